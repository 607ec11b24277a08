#ifndef PIPELINES_CONFIGURATION_H_
#define PIPELINES_CONFIGURATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rl/config/load.h"

namespace reprise {

// Reads, resolves and checks a configuration file with its --set overrides for a number of ranks.
absl::StatusOr<rl::ResolvedConfig> ReadConfiguration(const std::string& path, const std::vector<std::string>& overrides,
                                                     int64_t ranks);

}  // namespace reprise

#endif  // PIPELINES_CONFIGURATION_H_
