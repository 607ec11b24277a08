#ifndef CORE_CONFIG_FIELD_H_
#define CORE_CONFIG_FIELD_H_

// One key of a configuration: where its value lives, which values it allows, and what it means.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/literal.h"

namespace reprise::config {

// The values that a key allows, and their description in messages and documentation.
struct IntRange {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  bool only_powers_of_two = false;  // low >= 1 then

  bool Contains(int64_t value) const;
  // "2 to 65536", "0 or more", "a power of two from 1 to 1024".
  std::string Text() const;
};

struct DoubleRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool without_low = false;
  bool without_high = false;
  std::optional<double> or_exactly = std::nullopt;  // one more value, outside: "-1 = as the checkpoint says"

  // False for NaN and for infinities, whatever the bounds.
  bool Contains(double value) const;
  // "0 to 1", "more than 0", "0 or more, less than 1", "0 or more, or -1".
  std::string Text() const;
};

// Bounds for keys that are used in float arithmetic: as floats they are neither 0 nor infinite, and neither are the
// products that are computed directly from them.
inline constexpr double kLeastFloat = 1e-30, kMostFloat = 1e30;

inline IntRange Between(int64_t low, int64_t high) { return {.low = low, .high = high}; }
inline IntRange AtLeast(int64_t low) { return {.low = low}; }
inline IntRange PowersOfTwo(int64_t low, int64_t high) { return {low, high, /*only_powers_of_two=*/true}; }

// Semantic keys define the result and are part of a run's identity; execution keys must not change a bit of it.
enum class Kind { kSemantic, kExecution };

// A value that functions read and write: an enumeration, as the index of its enumerator, or a value that moves others.
template <typename T>
struct Access {
  void* owner;
  T (*get)(const void* owner);
  void (*set)(void* owner, T value);
};

// Access to an enumeration, whose enumerators are 0, 1, ..., or to a truth value that names say: 0 for false.
template <typename Enum>
Access<size_t> EnumAccess(Enum& value) {
  return {&value, [](const void* from) { return static_cast<size_t>(*static_cast<const Enum*>(from)); },
          [](void* to, size_t index) { *static_cast<Enum*>(to) = static_cast<Enum>(index); }};
}

// Access by `T get(const Owner&)` and `void set(T, Owner*)`; of an enumeration T as above.
template <auto get, auto set, typename Owner>
auto Through(Owner& owner) {
  using T = decltype(get(owner));
  using Value = std::conditional_t<std::is_enum_v<T>, size_t, T>;
  return Access<Value>{&owner,
                       [](const void* from) { return static_cast<Value>(get(*static_cast<const Owner*>(from))); },
                       [](void* to, Value value) { set(static_cast<T>(value), static_cast<Owner*>(to)); }};
}

// The least and the greatest value, written as "-5 5".
using Interval = std::pair<double, double>;

using Target = std::variant<bool*, int64_t*, double*, std::string*, std::optional<double>*, std::optional<Interval>*,
                            Access<bool>, Access<double>, Access<size_t>>;
// Ranges for numbers, the list of names for text that is one of a few and for an enumeration, whose enumerators they
// name in order; monostate allows every value of the type.
using Allowed = std::variant<std::monostate, IntRange, DoubleRange, std::vector<absl::string_view>>;

// How a number or an interval that may be absent is written where it is.
inline constexpr absl::string_view kNone = "none";

// Whether anything reads a key, which depends on the values of other keys.
struct Condition {
  std::function<bool()> holds;
  std::string needs;      // the condition, for messages and documentation: "algorithm.clip sapo"
  bool is_scope = false;  // whether it decides that the key exists for a configuration: otherwise it has no such key
};

struct Field {
  Kind kind;
  absl::string_view section, key;  // these three views are of string literals
  absl::string_view doc;           // one sentence
  Target target;
  Allowed allowed;
  bool several = false;                    // of names: text is one or more of them, separated by single spaces
  std::vector<Condition> conditions = {};  // all must hold for the key to have a reader

  std::string Name() const;  // "rollout.temperature"
  Value Get() const;         // of an enumeration its name, of what is absent "none"
  bool IsText() const;       // whether every value is written in quotes
  bool IsInScope() const;    // whether every scope holds

  // The first condition that does not hold, or nullptr: something reads the key.
  const Condition* FirstUnmet() const;

  // Returns the value as it would be stored: a whole number is accepted where a number is expected, and -0 becomes 0 so
  // that equal values are hashed equally. InvalidArgument when the type or the range is wrong:
  // `rollout.temperature is "hot"; expected a number`, `rollout.num_generations is 1; expected 2 to 65536`.
  absl::StatusOr<Value> Accept(const Value& value) const;
  // Stores a value that Accept returned.
  void Put(const Value& value) const;
  // Both; the target is untouched when the value is wrong.
  absl::Status Set(const Value& value) const;

  std::string TypeText() const;     // "true or false", "a whole number", "a number", "text", "a name", "names"
  std::string AllowedText() const;  // "2 to 65536", "`dapo` or `grpo`" with quotes for backticks; "" when all are
};

// "<name> is <found>; expected <expected>": the sentence of every value that cannot be stored.
absl::Status Mismatch(const Field& field, absl::string_view found, absl::string_view expected);

}  // namespace reprise::config

#endif  // CORE_CONFIG_FIELD_H_
