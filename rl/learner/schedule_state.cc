#include "rl/learner/schedule_state.h"

#include <cstdint>

#include "core/status/check.h"

namespace reprise::rl {

std::vector<double> ToNumbers(const ScheduleState& state) {
  std::vector<double> numbers = {state.kl.coefficient,      static_cast<double>(state.kl.updates),
                                 state.reward_mean.sum,     state.reward_mean.weight,
                                 state.entropy.coefficient, state.entropy.is_low ? 1.0 : 0.0};
  numbers.insert(numbers.end(), state.kl.recent_kl.begin(), state.kl.recent_kl.end());
  return numbers;
}

ScheduleState FromNumbers(absl::Span<const double> numbers) {
  CHECK_GE(numbers.size(), kLeastScheduleNumbers);
  ScheduleState state = {{numbers[0], static_cast<int64_t>(numbers[1]), {}},
                         {numbers[2], numbers[3]},
                         {.coefficient = numbers[4], .is_low = numbers[5] != 0.0}};
  state.kl.recent_kl.assign(numbers.begin() + kLeastScheduleNumbers, numbers.end());
  return state;
}

}  // namespace reprise::rl
