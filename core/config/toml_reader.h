#ifndef CORE_CONFIG_TOML_READER_H_
#define CORE_CONFIG_TOML_READER_H_

// TOML text of two levels as a flat list of keys with their places.

#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/literal.h"

namespace reprise::config {

struct Place {
  int line = 0;    // from 1
  int column = 0;  // from 1, in characters
  auto operator<=>(const Place&) const = default;
};

// What a key must not hold, in words: "an array", "a table", "a date".
struct NotScalar {
  absl::string_view what;
};

struct TomlEntry {
  enum class What {
    kSection,  // [section]: `key` and `value` mean nothing
    kKey,
    kOutside,  // a value (or array of tables) that stands outside any section: `section` means nothing
  };
  What what = What::kKey;
  Place place;        // of the key, or of the section's name
  Place value_place;  // of the value
  std::string section;
  std::string key;
  std::variant<Value, NotScalar> value = Value(false);
};

// All sections and keys of `text` in the order of their places. InvalidArgument `<file_name>:<line>:<column>: <what is
// wrong>` when it is not TOML, when a section or a key is given twice, or when it is not a configuration by its size
// (more than 1 MiB, or a line of more than 16 KiB). Throws nothing; pure.
absl::StatusOr<std::vector<TomlEntry>> ReadToml(absl::string_view text, absl::string_view file_name);

// The one value that `text` spells in TOML; InvalidArgument with a reason otherwise.
absl::StatusOr<std::variant<Value, NotScalar>> ReadTomlValue(absl::string_view text);

// `message` as an InvalidArgument that starts with "<file_name>:<line>:<column>: ".
absl::Status ErrorAt(absl::string_view file_name, const Place& place, absl::string_view message);

}  // namespace reprise::config

#endif  // CORE_CONFIG_TOML_READER_H_
