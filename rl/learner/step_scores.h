#ifndef RL_LEARNER_STEP_SCORES_H_
#define RL_LEARNER_STEP_SCORES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rl/learner/step_tools.h"

namespace reprise::rl {

// Computes all that a step needs of its episodes before its first update: their rewards, and where the algorithm needs
// them their log-probabilities under the reference, under the policy and under the distributions that they were drawn
// from, the weights of importance correction, and the old values. What is recorded of an episode is set in `batch`.
// Collective. Internal, naming prompt and sample, for a number that is not within bounds.
absl::StatusOr<StepScores> ScoreStep(const StepPlan& plan, StepTools* tools, StepBatch* batch);

// Internal where a log-probability or value of this rank is not within bounds: it would corrupt the advantages of other
// episodes, and here the corrupted tensor can still be named. Not collective.
absl::Status CheckScores(const StepBatch& batch, const StepScores& scores, const StepTools& tools);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_SCORES_H_
