#include "rl/learner/schedule_state.h"

#include <algorithm>
#include <cstdint>

#include "core/status/check.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

// With trends, these numbers follow the least ones: the failures, how many rewards there are, and the rewards.
constexpr size_t kFailures = kLeastScheduleNumbers, kRewards = kFailures + 1, kFirstReward = kRewards + 1;

}  // namespace

std::vector<double> ToNumbers(const ScheduleState& state, bool keeps_trends) {
  std::vector<double> numbers = {state.kl.coefficient,      static_cast<double>(state.kl.updates),
                                 state.reward_mean.sum,     state.reward_mean.weight,
                                 state.entropy.coefficient, state.entropy.is_low ? 1.0 : 0.0};
  if (keeps_trends) {
    numbers.push_back(static_cast<double>(state.theater_failures));
    numbers.push_back(static_cast<double>(state.recent_rewards.size()));
    numbers.insert(numbers.end(), state.recent_rewards.begin(), state.recent_rewards.end());
  }
  numbers.insert(numbers.end(), state.kl.recent_kl.begin(), state.kl.recent_kl.end());
  return numbers;
}

ScheduleState FromNumbers(absl::Span<const double> numbers, bool keeps_trends) {
  CHECK_GE(numbers.size(), kLeastScheduleNumbers);
  ScheduleState state = {{numbers[0], static_cast<int64_t>(numbers[1]), {}},
                         {numbers[2], numbers[3]},
                         {.coefficient = numbers[4], .is_low = numbers[5] != 0.0}};
  absl::Span<const double> rest = numbers.subspan(kLeastScheduleNumbers);
  if (keeps_trends && numbers.size() >= kFirstReward) {
    state.theater_failures = static_cast<int64_t>(numbers[kFailures]);
    const double most = static_cast<double>(numbers.size() - kFirstReward);
    const size_t rewards = static_cast<size_t>(std::clamp(numbers[kRewards], 0.0, most));
    const absl::Span<const double> recent = numbers.subspan(kFirstReward, rewards);
    state.recent_rewards.assign(recent.begin(), recent.end());
    rest = numbers.subspan(kFirstReward + rewards);
  }
  state.kl.recent_kl.assign(rest.begin(), rest.end());
  return state;
}

double RewardAverage(const ScheduleState& state) {
  return kernels::TreeSum(state.recent_rewards) / static_cast<double>(std::max<size_t>(1, state.recent_rewards.size()));
}

}  // namespace reprise::rl
