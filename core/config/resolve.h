#ifndef CORE_CONFIG_RESOLVE_H_
#define CORE_CONFIG_RESOLVE_H_

// Resolves configuration text to values. Precedence: the struct's own defaults < the file < --set; a later --set
// overrides an earlier one. The file's value of a key that --unset names is ignored.

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/config/field_list.h"
#include "core/config/toml_reader.h"

namespace reprise::config {

// The origin of each value by name ("rollout.temperature"): "grpo.toml:12" or "--set". A name that is absent has its
// default value.
using Origins = std::map<std::string, std::string>;

// The origin of a value that the command line gives.
inline constexpr absl::string_view kFromOverride = "--set";

// What a file and a command line say, checked but not stored: a key may set others that are listed after it, as a
// preset does, so the values are stored together in the order of listing, in whatever order they were given.
class Settings {
 public:
  // `fields` must outlive this.
  explicit Settings(const FieldList& fields) : fields_(fields) {}

  // Adds the values of the TOML text. `file_name` is only for messages and origins. All errors are InvalidArgument and
  // name the first place that is wrong:
  //   grpo.toml:12:1: unknown key rollout.num_generation; did you mean rollout.num_generations?
  //   grpo.toml:7:15: rollout.temperature is "hot"; expected a number
  //   grpo.toml:3:2: unknown section rollut; did you mean rollout?
  absl::Status AddFile(absl::string_view text, absl::string_view file_name);

  // Removes the value of the key; errors are InvalidArgument and start with `--unset <name>: `.
  absl::Status Remove(const std::string& name);

  // Adds one --set argument, `section.key=value`. The value is written as in TOML, but strings may omit their quotes,
  // if they are not empty: data.task=sort. Errors are InvalidArgument and start with `--set <argument>: `.
  absl::Status AddOverride(absl::string_view argument);

  // Stores all values in the fields, and adds their origins.
  void Store(Origins& origins) const;

 private:
  struct Setting {
    Value value;
    std::string origin;
  };

  absl::Status AddEntry(const TomlEntry& entry, absl::string_view file_name);
  absl::Status Override(absl::string_view argument);

  const FieldList& fields_;
  std::map<const Field*, Setting> settings_;  // keys point into one array, so that the order is that of listing
};

// Stores one --set argument in the fields. Errors as above.
absl::Status ApplyOverride(absl::string_view argument, const FieldList& fields, Origins& origins);

// Returns the field of a name like "rollout.temperature"; InvalidArgument, with the nearest known names, if none
// exists.
absl::StatusOr<const Field*> FindByName(absl::string_view name, const FieldList& fields);

// Stores the file's values, without those named by `unset`, and the overrides. The fields must hold their defaults.
// Errors as above; the fields are then untouched.
absl::Status Resolve(absl::string_view text, absl::string_view file_name, absl::Span<const std::string> overrides,
                     const FieldList& fields, Origins& origins, absl::Span<const std::string> unset = {});

}  // namespace reprise::config

#endif  // CORE_CONFIG_RESOLVE_H_
