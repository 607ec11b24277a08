#ifndef RL_CONFIG_EXTENSION_H_
#define RL_CONFIG_EXTENSION_H_

// Runs that were extended by more steps after their end. A decaying learning rate decays to the end of each part, so
// the run records where the parts ended (run.extended_at). A run executed at once with that key set has the same bits.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rl/config/config.h"

namespace reprise::rl {

// Returns the ends before run.steps, ascending. InvalidArgument if run.extended_at is not such a list.
absl::StatusOr<std::vector<int64_t>> EarlierEnds(const RunConfig& run);

// Returns the end of the part that a training step belongs to: the first of the earlier ends that is not before it, or
// run.steps. The configuration must have been checked.
int64_t EndOfPart(const RunConfig& run, int64_t step);

// Returns whether some value of a step depends on the end of its part, so that an extension records where that was.
bool DependsOnEnd(const Config& config);

// Returns `config` with `steps` steps. InvalidArgument unless they are more than before.
absl::StatusOr<Config> Extend(Config config, int64_t steps);

}  // namespace reprise::rl

#endif  // RL_CONFIG_EXTENSION_H_
