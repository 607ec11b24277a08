#ifndef RL_LEARNER_STEP_DIVERGENCE_H_
#define RL_LEARNER_STEP_DIVERGENCE_H_

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"
#include "rl/learner/step.h"

namespace reprise::rl {

// The mean over the step's tokens of k1 between the policy that sampled and the reference: what schedules of its weight
// go by. Episodes must have both log-probabilities. Collective; the same bits on any number of ranks.
absl::StatusOr<double> MeanDivergence(Communicator& comm, const Step& step);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_DIVERGENCE_H_
