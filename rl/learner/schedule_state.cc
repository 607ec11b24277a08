#include "rl/learner/schedule_state.h"

#include <algorithm>
#include <cstdint>

#include "core/status/check.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

constexpr double kMostFailures = 1e15;

// Takes the first of the numbers, at most `count`, off the front.
absl::Span<const double> TakeFirst(size_t count, absl::Span<const double>* numbers) {
  const absl::Span<const double> first = numbers->first(std::min(count, numbers->size()));
  numbers->remove_prefix(first.size());
  return first;
}

}  // namespace

std::vector<double> ToNumbers(const ScheduleState& state, const KeptNumbers& kept) {
  std::vector<double> numbers = {state.kl.coefficient,      static_cast<double>(state.kl.updates),
                                 state.reward_mean.sum,     state.reward_mean.weight,
                                 state.entropy.coefficient, state.entropy.is_low ? 1.0 : 0.0};
  const kernels::Moments& rewards = state.token_rewards;
  if (kept.token_rewards) numbers.insert(numbers.end(), {rewards.count, rewards.mean, rewards.squares});
  if (kept.trends) {
    numbers.push_back(static_cast<double>(state.failures_in_a_row));
    numbers.push_back(static_cast<double>(state.recent_rewards.size()));
    numbers.insert(numbers.end(), state.recent_rewards.begin(), state.recent_rewards.end());
  }
  numbers.insert(numbers.end(), state.kl.recent_kl.begin(), state.kl.recent_kl.end());
  return numbers;
}

ScheduleState FromNumbers(absl::Span<const double> numbers, const KeptNumbers& kept) {
  CHECK_GE(numbers.size(), LeastScheduleNumbers(kept));
  ScheduleState state = {{numbers[0], static_cast<int64_t>(numbers[1]), {}},
                         {numbers[2], numbers[3]},
                         {.coefficient = numbers[4], .is_low = numbers[5] != 0.0}};
  absl::Span<const double> rest = numbers.subspan(LeastScheduleNumbers({}));
  if (kept.token_rewards) {
    const absl::Span<const double> rewards = TakeFirst(3, &rest);
    state.token_rewards = {rewards[0], rewards[1], rewards[2]};
  }
  if (kept.trends) {
    const absl::Span<const double> counts = TakeFirst(2, &rest);
    state.failures_in_a_row = static_cast<int64_t>(std::clamp(counts[0], 0.0, kMostFailures));
    const double most = static_cast<double>(rest.size());
    const auto recent = TakeFirst(static_cast<size_t>(std::clamp(counts[1], 0.0, most)), &rest);
    state.recent_rewards.assign(recent.begin(), recent.end());
  }
  state.kl.recent_kl.assign(rest.begin(), rest.end());
  return state;
}

double RewardAverage(const ScheduleState& state) {
  return kernels::TreeSum(state.recent_rewards) / static_cast<double>(std::max<size_t>(1, state.recent_rewards.size()));
}

}  // namespace reprise::rl
