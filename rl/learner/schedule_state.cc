#include "rl/learner/schedule_state.h"

#include <algorithm>
#include <cmath>
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

// Appends the number of steps and their rewards. Where a step has none the number is negative, and each reward follows
// a 1 or, where there is none, a 0: a state is refused if it has a NaN.
void AppendRecent(const std::vector<std::optional<double>>& recent, std::vector<double>* numbers) {
  const bool all_scored = std::all_of(recent.begin(), recent.end(), [](const auto& r) { return r.has_value(); });
  const double count = static_cast<double>(recent.size());
  numbers->push_back(all_scored ? count : -count);
  for (const std::optional<double>& reward : recent) {
    if (!all_scored) numbers->push_back(reward ? 1.0 : 0.0);
    numbers->push_back(reward.value_or(0.0));
  }
}

// The inverse of what follows the count.
std::vector<std::optional<double>> TakeRecent(double count, absl::Span<const double>* numbers) {
  const size_t width = count < 0 ? 2 : 1;
  const double most = static_cast<double>(numbers->size() / width);
  const size_t steps = static_cast<size_t>(std::min(most, std::fabs(count)));
  const absl::Span<const double> taken = TakeFirst(steps * width, numbers);
  std::vector<std::optional<double>> recent(steps);
  for (size_t i = 0; i < steps; ++i) {
    const bool is_scored = width == 1 || taken[i * width] != 0.0;
    if (is_scored) recent[i] = taken[(i + 1) * width - 1];
  }
  return recent;
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
    AppendRecent(state.recent_rewards, &numbers);
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
    state.recent_rewards = TakeRecent(counts[1], &rest);
  }
  state.kl.recent_kl.assign(rest.begin(), rest.end());
  return state;
}

std::optional<double> RewardAverage(const ScheduleState& state) {
  std::vector<double> scored;
  for (const std::optional<double>& reward : state.recent_rewards) {
    if (reward) scored.push_back(*reward);
  }
  if (scored.empty()) return std::nullopt;
  return kernels::TreeSum(scored) / static_cast<double>(scored.size());
}

}  // namespace reprise::rl
