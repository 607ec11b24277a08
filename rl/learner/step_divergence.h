#ifndef RL_LEARNER_STEP_DIVERGENCE_H_
#define RL_LEARNER_STEP_DIVERGENCE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"
#include "rl/learner/step.h"

namespace reprise::rl {

// How far a step's policy is from the reference: what schedules of the divergence's weight go by.
struct StepDivergence {
  double mean = 0;          // over the tokens that count, of k1 between the policy that sampled and the reference
  int64_t num_tokens = 0;   // that count
  int64_t num_samples = 0;  // completions that are not masked
};

// Episodes must have both log-probabilities. Collective; the same bits on any number of ranks.
absl::StatusOr<StepDivergence> DivergenceOf(Communicator& comm, const Step& step);

// The step's metric `entropy`: what the weight of the entropy bonus follows. None where no token counts. After its
// updates; collective, likewise.
absl::StatusOr<std::optional<double>> MeanEntropyOf(Communicator& comm, const Step& step);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_DIVERGENCE_H_
