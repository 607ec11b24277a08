#ifndef RL_CONFIG_EXTENSION_H_
#define RL_CONFIG_EXTENSION_H_

// Runs that were finished and then given more steps. A learning rate that falls to the end of the run falls to the end
// of each of its parts, so a run remembers where they ended (run.extended_at), and is one run: executed at once with
// that key set, it has the same bits.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rl/config/config.h"

namespace reprise::rl {

// The ends before run.steps, rising. InvalidArgument where run.extended_at is not that.
absl::StatusOr<std::vector<int64_t>> EarlierEnds(const RunConfig& run);

// The end of the part that a training step belongs to: the first of the earlier ends that is not before it, or
// run.steps. Of a checked configuration.
int64_t EndOfPart(const RunConfig& run, int64_t step);

// `config` with more steps. InvalidArgument unless they are more.
absl::StatusOr<Config> Extend(Config config, int64_t steps);

}  // namespace reprise::rl

#endif  // RL_CONFIG_EXTENSION_H_
