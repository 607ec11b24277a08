#ifndef CORE_CONFIG_LITERAL_H_
#define CORE_CONFIG_LITERAL_H_

// Values as TOML literals, one spelling per value: what is printed is also what is hashed, so these functions are part
// of a run's identity.

#include <cstdint>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"

namespace reprise::config {

using Value = std::variant<bool, int64_t, double, std::string>;

// The literal that TOML reads back as the same value of the same type. Doubles have the fewest digits that round-trip
// ("1e-6", "0.3", "8.0"), strings are basic strings ("\"a\\nb\"") whose control characters are escaped.
std::string Literal(const Value& value);

// A basic string: quotes, backslashes and control characters escaped, everything else as it is.
std::string Quoted(absl::string_view text);

}  // namespace reprise::config

#endif  // CORE_CONFIG_LITERAL_H_
