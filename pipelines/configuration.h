#ifndef PIPELINES_CONFIGURATION_H_
#define PIPELINES_CONFIGURATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rl/config/config.h"
#include "rl/config/load.h"

namespace reprise {

inline constexpr int64_t kMostConfigurationBytes = int64_t{1} << 20;

// Reads, resolves and checks a configuration file with its --set overrides for a number of ranks. Whether all that it
// says is read is another question (rl/config/unread_keys.h).
absl::StatusOr<rl::ResolvedConfig> ReadConfiguration(const std::string& path, const std::vector<std::string>& overrides,
                                                     int64_t ranks);

// Applies --set overrides to the configuration of a run that there is. InvalidArgument unless each is of [execution],
// whose keys change no bit of a run; the key's own errors otherwise.
absl::Status OverrideExecution(const std::vector<std::string>& overrides, rl::Config* config);

// The same for keys of these sections; no other may be set.
absl::Status OverrideSections(const std::vector<std::string>& overrides, const std::vector<std::string>& sections,
                              rl::Config* config);

}  // namespace reprise

#endif  // PIPELINES_CONFIGURATION_H_
