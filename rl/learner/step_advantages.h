#ifndef RL_LEARNER_STEP_ADVANTAGES_H_
#define RL_LEARNER_STEP_ADVANTAGES_H_

#include "absl/status/statusor.h"
#include "rl/learner/step_tools.h"

namespace reprise::rl {

// Computes on every rank the advantages of all completions from all rewards, lengths, divergences and values, and sets
// those of the rank's own completions, also in `batch`. Collective. Internal, naming prompt and sample, for a
// log-probability or value that is not within bounds; the errors of PromptBaselines.
absl::StatusOr<StepAdvantages> ComputeAdvantages(const StepPlan& plan, const StepScores& scores, StepTools* tools,
                                                 StepBatch* batch);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_ADVANTAGES_H_
