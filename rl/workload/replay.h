#ifndef RL_WORKLOAD_REPLAY_H_
#define RL_WORKLOAD_REPLAY_H_

// How a workload that is executed from a record finds what it stores of a step.

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rl/record/step_record.h"
#include "rl/workload/run_parts.h"
#include "rl/workload/workload.h"

namespace reprise::rl {

// Returns the stored step that `part` is of; nullopt where the step is live. DataLoss where the run has no such step;
// else errors of workload.DecodeStep.
absl::StatusOr<std::optional<StepRecord>> StoredStep(const WorkloadRun& run, const StepPart& part,
                                                     const Workload& workload);

// Returns the episode of a prompt and sample of a stored step with this many samples of each prompt, which it is part
// of. DataLoss where it lacks that.
absl::StatusOr<const EpisodeRecord*> StoredEpisode(const StepRecord& stored, int64_t prompt, int64_t sample,
                                                   int64_t samples);

// Returns Internal, with prompt and sample, for a reward that is not within bounds.
absl::Status CheckReward(const EpisodeRecord& episode);

}  // namespace reprise::rl

#endif  // RL_WORKLOAD_REPLAY_H_
