#ifndef PIPELINES_SWEEPS_PENDING_TRIALS_H_
#define PIPELINES_SWEEPS_PENDING_TRIALS_H_

// What is left of a sweep when it is started again.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"
#include "pipelines/sweeps/stored_plan.h"

namespace reprise {

// Trials that have not ended, by index.
struct PendingTrials {
  std::vector<int64_t> shared;  // may be executed beside each other, in any order
  std::vector<int64_t> alone;   // suspects (attempts.h), for the end: the one with the fewest lost attempts first
  std::vector<int64_t>
      given_up;  // have lost as many attempts as they may; their failures are written, of those without a run.h5
};

// Sorts `trials`, those that this process works on, and notes the deaths of attempts that earlier executions of the
// sweep have left open: an attempt was alone if no other trial of the sweep has one that ended with it. Called while no
// other process works on these trials. Errors are FileSystem's.
absl::StatusOr<PendingTrials> FindPendingTrials(FileSystem& files, const std::string& sweep_directory,
                                                const StoredPlan& plan, const std::vector<int64_t>& trials,
                                                int64_t most_attempts);

// Returns the last committed step of the run in the directory; -1 without one, or where it cannot be read.
int64_t LastStepIn(FileSystem& files, const std::string& directory);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_PENDING_TRIALS_H_
