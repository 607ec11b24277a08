#ifndef CORE_CONFIG_TOML_READER_H_
#define CORE_CONFIG_TOML_READER_H_

// Reads two-level TOML text into a flat list of keys with their places.

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/literal.h"

namespace reprise::config {

// The most bytes of a text that is read.
inline constexpr size_t kLongestToml = size_t{1} << 20;

struct Place {
  int line = 0;    // from 1
  int column = 0;  // from 1, in characters
  auto operator<=>(const Place&) const = default;
};

// A description of a value that a key must not hold: "an array", "a table", "a date or a time".
struct NotScalar {
  absl::string_view what;
};

struct TomlEntry {
  enum class What {
    kSection,  // [section]: `key` and `value` are unused
    kKey,
    kOutside,  // a value (or array of tables) outside every section: `section` is unused
  };
  What what = What::kKey;
  Place place;        // of the key, or of the section's name
  Place value_place;  // of the value
  std::string section;
  std::string key;
  std::variant<Value, NotScalar> value = Value(false);
};

// Returns all sections and keys of `text` in the order of their places. InvalidArgument `<file_name>:<line>:<column>:
// <what is wrong>` if it is not TOML, if a section or a key is given twice, if it has more than kLongestToml bytes, or
// if a key has more than 16 parts. Throws nothing; pure.
absl::StatusOr<std::vector<TomlEntry>> ReadToml(absl::string_view text, absl::string_view file_name);

// A value of any kind with its place, of files that have more levels than a configuration.
struct TomlNode {
  enum class Kind { kValue, kArray, kTable, kOther };
  Kind kind = Kind::kOther;  // kOther: a date or a time
  Place place;
  std::string key = {};  // of a member of a table
  Place key_place = {};
  Value value = false;                  // of kValue
  std::vector<TomlNode> children = {};  // of an array in its order, of a table in the order of the text

  // Returns the member of that name; null if there is none.
  const TomlNode* Find(absl::string_view name) const;
};

// Returns the file as a table. InvalidArgument as ReadToml, and if it has more than 16 levels. Pure.
absl::StatusOr<TomlNode> ReadTomlTree(absl::string_view text, absl::string_view file_name);

// Returns the single TOML value in `text`; InvalidArgument with a reason if it is anything else.
absl::StatusOr<std::variant<Value, NotScalar>> ReadTomlValue(absl::string_view text);

// `message` as an InvalidArgument that starts with "<file_name>:<line>:<column>: ".
absl::Status ErrorAt(absl::string_view file_name, const Place& place, absl::string_view message);

}  // namespace reprise::config

#endif  // CORE_CONFIG_TOML_READER_H_
