#include "rl/workloads/memory_agent/behaviour.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"
#include "kernels/sampling/sampling.h"

namespace reprise::rl {
namespace {

using data::MemoryOperation;

constexpr int64_t kLastSteps = 2;  // in which an episode makes up for operations that it lacks
std::vector<MemoryOperation> OperationsThat(bool (*are)(MemoryOperation)) {
  std::vector<MemoryOperation> operations;
  for (size_t number = 0; number < data::kMemoryOperationCount; ++number) {
    if (are(static_cast<MemoryOperation>(number))) operations.push_back(static_cast<MemoryOperation>(number));
  }
  return operations;
}

bool IsShortTerm(MemoryOperation operation) { return !data::IsLongTerm(operation); }

// Returns the operations of the kind that an episode near its end lacks; none where it lacks none.
std::vector<MemoryOperation> MissingKind(absl::Span<const MemoryOperation> operation_T, int64_t steps) {
  if (steps - static_cast<int64_t>(operation_T.size()) > kLastSteps) return {};
  if (std::none_of(operation_T.begin(), operation_T.end(), data::IsLongTerm)) {
    return OperationsThat([](MemoryOperation operation) { return data::IsLongTerm(operation); });
  }
  if (std::none_of(operation_T.begin(), operation_T.end(), IsShortTerm)) return OperationsThat(IsShortTerm);
  return {};
}

float PolicyLogprob(absl::Span<const float> logit_A, float temperature, MemoryOperation operation) {
  std::vector<float> scaled_A(logit_A.begin(), logit_A.end());
  kernels::SamplingWorkspace workspace;
  return kernels::BehaviourLogProbability(static_cast<int64_t>(scaled_A.size()), scaled_A.data(),
                                          {.temperature = temperature}, static_cast<int32_t>(operation), &workspace);
}

}  // namespace

MemoryBehaviour StageBehaviour(const MemoryConfig& memory, int stage) {
  return stage == 1 ? memory.stage1_behaviour : stage == 2 ? memory.stage2_behaviour : memory.stage3_behaviour;
}

std::vector<MemoryOperation> UniformChoices(MemoryBehaviour behaviour, absl::Span<const MemoryOperation> operation_T,
                                            int64_t steps) {
  const bool makes_up = behaviour == MemoryBehaviour::kGuided || behaviour == MemoryBehaviour::kHeuristic;
  std::vector<MemoryOperation> choices;
  if (makes_up) choices = MissingKind(operation_T, steps);
  const bool explores = behaviour == MemoryBehaviour::kUniform || behaviour == MemoryBehaviour::kHeuristic;
  return choices.empty() && explores ? OperationsThat([](MemoryOperation) { return true; }) : choices;
}

DrawnOperation DrawOperation(absl::Span<const MemoryOperation> choices, absl::Span<const float> logit_A,
                             float temperature, double uniform) {
  CHECK_EQ(logit_A.size(), data::kMemoryOperationCount);
  if (!choices.empty()) {
    const size_t last = choices.size() - 1;
    const size_t index = static_cast<size_t>(uniform * static_cast<double>(choices.size()));
    return ScoreOperation(choices, logit_A, temperature, choices[std::min(index, last)]);
  }
  std::vector<float> scaled_A(logit_A.begin(), logit_A.end());
  kernels::SamplingWorkspace workspace;
  const kernels::SampledToken drawn = kernels::SampleToken(static_cast<int64_t>(scaled_A.size()), scaled_A.data(),
                                                           {.temperature = temperature}, uniform, &workspace);
  return {static_cast<MemoryOperation>(drawn.token), drawn.logprob, drawn.logprob};
}

DrawnOperation ScoreOperation(absl::Span<const MemoryOperation> choices, absl::Span<const float> logit_A,
                              float temperature, MemoryOperation operation) {
  DrawnOperation drawn = {.operation = operation, .logprob = PolicyLogprob(logit_A, temperature, operation)};
  if (choices.empty()) {
    drawn.behaviour_logprob = drawn.logprob;
  } else if (std::find(choices.begin(), choices.end(), operation) == choices.end()) {
    drawn.behaviour_logprob = -std::numeric_limits<float>::infinity();
  } else {
    drawn.behaviour_logprob = static_cast<float>(-kernels::Log(static_cast<double>(choices.size())));
  }
  return drawn;
}

MemoryOperation GreedyOperation(absl::Span<const float> logit_A) {
  CHECK_EQ(logit_A.size(), data::kMemoryOperationCount);
  return static_cast<MemoryOperation>(std::max_element(logit_A.begin(), logit_A.end()) - logit_A.begin());
}

}  // namespace reprise::rl
