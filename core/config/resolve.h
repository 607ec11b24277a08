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

namespace reprise::config {

// The origin of each value by name ("rollout.temperature"): "grpo.toml:12" or "--set". A name that is absent has its
// default value.
using Origins = std::map<std::string, std::string>;

// The origin of a value that the command line gives.
inline constexpr absl::string_view kFromOverride = "--set";

// Stores the values of the TOML text in the fields. `file_name` is only for messages and origins. All errors are
// InvalidArgument, name the first place that is wrong, and leave the fields in an unspecified state:
//   grpo.toml:12:1: unknown key rollout.num_generation; did you mean rollout.num_generations?
//   grpo.toml:7:15: rollout.temperature is "hot"; expected a number
//   grpo.toml:3:2: unknown section rollut; did you mean rollout?
absl::Status ApplyFile(absl::string_view text, absl::string_view file_name, const FieldList& fields, Origins& origins);

// Stores one --set argument, `section.key=value`. The value is written as in TOML, but strings may omit their quotes,
// if they are not empty: data.task=sort. Errors are InvalidArgument and start with `--set <argument>: `.
absl::Status ApplyOverride(absl::string_view argument, const FieldList& fields, Origins& origins);

// Returns the field of a name like "rollout.temperature"; InvalidArgument, with the nearest known names, if none
// exists.
absl::StatusOr<const Field*> FindByName(absl::string_view name, const FieldList& fields);

// Applies the file, then the overrides in order. The fields must hold their defaults; those named by `unset` are reset
// to them after the file. Errors are InvalidArgument; those of `unset` start with `--unset <name>: `.
absl::Status Resolve(absl::string_view text, absl::string_view file_name, absl::Span<const std::string> overrides,
                     const FieldList& fields, Origins& origins, absl::Span<const std::string> unset = {});

}  // namespace reprise::config

#endif  // CORE_CONFIG_RESOLVE_H_
