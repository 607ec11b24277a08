#ifndef RL_WORKLOADS_MEMORY_AGENT_BEHAVIOUR_H_
#define RL_WORKLOADS_MEMORY_AGENT_BEHAVIOUR_H_

// What an episode's operations are drawn from while the policy learns: the policy, or a distribution that explores. The
// log-probability of an operation under the policy and under what it was drawn from are both known.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "data/memory/operation.h"
#include "rl/config/config.h"

namespace reprise::rl {

// Returns the behaviour of a stage, 1, 2 or 3, in training. Pure.
MemoryBehaviour StageBehaviour(const MemoryConfig& memory, int stage);

// Returns the operations among which the next one of an episode is drawn uniformly, ascending; none where the policy
// draws it:
//   kUniform    all
//   kHeuristic  where at most two operations are left: those of the long-term memory if the episode has none of them
//               yet, else those of the short-term memory if it has none of these; elsewhere all
//   kGuided     likewise, but elsewhere none; kPolicy: none
// operation_T: the episode's so far; steps: how many it has at its end. Pure.
std::vector<data::MemoryOperation> UniformChoices(MemoryBehaviour behaviour,
                                                  absl::Span<const data::MemoryOperation> operation_T, int64_t steps);

struct DrawnOperation {
  data::MemoryOperation operation = data::MemoryOperation::kAdd;
  float logprob = 0;  // under the policy
  // Under what it is drawn from: log(1 / n) of n choices, and -infinity for an operation that is not among them; the
  // bits of `logprob` without choices.
  float behaviour_logprob = 0;
};

// Draws an operation: one of the choices with the same probability, or, where there are none, from the policy's
// distribution as SampleToken does (kernels/sampling). logit_A: the policy's. uniform in [0, 1). Pure.
DrawnOperation DrawOperation(absl::Span<const data::MemoryOperation> choices, absl::Span<const float> logit_A,
                             float temperature, double uniform);

// Returns what DrawOperation returns when it draws this operation. Pure.
DrawnOperation ScoreOperation(absl::Span<const data::MemoryOperation> choices, absl::Span<const float> logit_A,
                              float temperature, data::MemoryOperation operation);

// Returns the most probable operation; of several, the first. Pure.
data::MemoryOperation GreedyOperation(absl::Span<const float> logit_A);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_BEHAVIOUR_H_
