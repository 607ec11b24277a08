#include "pipelines/configuration.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/config/resolve.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "rl/config/check.h"

namespace reprise {

absl::StatusOr<rl::ResolvedConfig> ReadConfiguration(const std::string& path, const std::vector<std::string>& overrides,
                                                     int64_t ranks) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(PosixFileSystem(), path, kMostConfigurationBytes));
  const std::string name = path.substr(path.rfind('/') + 1);
  ASSIGN_OR_RETURN(rl::ResolvedConfig resolved, rl::LoadConfig(text, name, overrides));
  RETURN_IF_ERROR(rl::CheckConfig(resolved.config, ranks));
  return resolved;
}

absl::Status OverrideExecution(const std::vector<std::string>& overrides, rl::Config* config) {
  return OverrideSections(overrides, {"execution"}, config);
}

absl::Status OverrideSections(const std::vector<std::string>& overrides, const std::vector<std::string>& sections,
                              rl::Config* config) {
  config::FieldList fields;
  Visit(fields, *config);
  config::Origins origins;
  for (const std::string& argument : overrides) {
    const bool names_key = absl::StrContains(argument, '=');
    const bool may_be_set = std::any_of(sections.begin(), sections.end(), [&](const std::string& section) {
      return absl::StartsWith(absl::StripLeadingAsciiWhitespace(argument), section + ".");
    });
    if (names_key && !may_be_set) {
      return absl::InvalidArgumentError(absl::StrCat("--set ", argument, ": only keys of [",
                                                     absl::StrJoin(sections, "] and ["),
                                                     "] may be set; all others are what the run says of itself"));
    }
    RETURN_IF_ERROR(config::ApplyOverride(argument, fields, origins));
  }
  return absl::OkStatus();
}

}  // namespace reprise
