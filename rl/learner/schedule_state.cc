#include "rl/learner/schedule_state.h"

#include <cstdint>

#include "core/status/check.h"

namespace reprise::rl {

std::vector<double> ToNumbers(const ScheduleState& state, bool has_rewards) {
  std::vector<double> numbers = {state.kl.coefficient,      static_cast<double>(state.kl.updates),
                                 state.reward_mean.sum,     state.reward_mean.weight,
                                 state.entropy.coefficient, state.entropy.is_low ? 1.0 : 0.0};
  const kernels::Moments& rewards = state.token_rewards;
  if (has_rewards) numbers.insert(numbers.end(), {rewards.count, rewards.mean, rewards.squares});
  numbers.insert(numbers.end(), state.kl.recent_kl.begin(), state.kl.recent_kl.end());
  return numbers;
}

ScheduleState FromNumbers(absl::Span<const double> numbers, bool has_rewards) {
  const size_t end = LeastScheduleNumbers(has_rewards);  // of the numbers that are always there
  CHECK_GE(numbers.size(), end);
  ScheduleState state = {{numbers[0], static_cast<int64_t>(numbers[1]), {}},
                         {numbers[2], numbers[3]},
                         {.coefficient = numbers[4], .is_low = numbers[5] != 0.0},
                         {}};
  if (has_rewards) state.token_rewards = {numbers[6], numbers[7], numbers[8]};
  state.kl.recent_kl.assign(numbers.begin() + static_cast<int64_t>(end), numbers.end());
  return state;
}

}  // namespace reprise::rl
