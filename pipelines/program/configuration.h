#ifndef PIPELINES_PROGRAM_CONFIGURATION_H_
#define PIPELINES_PROGRAM_CONFIGURATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/log/logger.h"
#include "rl/config/config.h"
#include "rl/config/load.h"

namespace reprise {

inline constexpr int64_t kMostConfigurationBytes = int64_t{1} << 20;

// The command line's changes of keys.
struct KeyEdits {
  std::vector<std::string> set = {};    // "section.key=value"
  std::vector<std::string> unset = {};  // "section.key"
};

// Reads and resolves a configuration file. Its paths are relative to it, those of the command line to the working
// directory; the result has all as this process can open them. A key of the file that is read without the command
// line's changes, but not with them, is ignored; such keys are logged as a warning to `logger`, unless it is null.
absl::StatusOr<rl::ResolvedConfig> LoadConfiguration(const std::string& path, const KeyEdits& edits, Logger* logger);

// The same, checked for a number of ranks, but not for unread keys (rl/config/unread_keys.h).
absl::StatusOr<rl::ResolvedConfig> ReadConfiguration(const std::string& path, const KeyEdits& edits, int64_t ranks,
                                                     Logger* logger);

// Applies the command line to the configuration of an existing run. InvalidArgument unless each key is in [execution],
// whose keys change no bit of a run; otherwise the key's own errors.
absl::Status OverrideExecution(const KeyEdits& edits, rl::Config* config);

// The same for keys of `sections`; no others are allowed.
absl::Status OverrideSections(const KeyEdits& edits, const std::vector<std::string>& sections, rl::Config* config);

}  // namespace reprise

#endif  // PIPELINES_PROGRAM_CONFIGURATION_H_
