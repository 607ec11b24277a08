#include "rl/workloads/memory_agent/outcome_reward.h"

#include <algorithm>

namespace reprise::rl {
namespace {

constexpr double kNoAnswer = -1, kTooManyOperations = -1, kOverflow = -0.5;

double MeanOfThree(double a, double b, double c) { return (a + b + c) / 3; }

}  // namespace

OutcomeReward ComputeReward(const MemoryOutcome& outcome, const OutcomeLimits& limits) {
  const double used = static_cast<double>(outcome.context_used) / static_cast<double>(limits.context_capacity);
  const double storage =
      static_cast<double>(outcome.relevant) / static_cast<double>(std::max<int64_t>(1, outcome.stored));
  OutcomeReward reward;
  reward.task = outcome.answer.value_or(kNoAnswer);
  reward.context = MeanOfThree(std::max(0.0, 1 - used), outcome.has_prevented ? 1 : 0, outcome.preserved);
  reward.memory = MeanOfThree(storage, outcome.has_maintained ? 1 : 0, outcome.relevance);
  reward.penalty = (outcome.operations > limits.most_operations ? kTooManyOperations : 0) +
                   (outcome.context_most > limits.context_capacity ? kOverflow : 0);
  reward.total = MeanOfThree(reward.task, reward.context, reward.memory) + reward.penalty;
  return reward;
}

}  // namespace reprise::rl
