#include "rl/learner/trends.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/string_view.h"
#include "core/status/check.h"
#include "kernels/sums/sums.h"
#include "rl/config/evaluation_section.h"
#include "rl/config/workload_traits.h"

namespace reprise::rl {
namespace {

Metrics::const_iterator Find(const Metrics& metrics, absl::string_view name) {
  return std::find_if(metrics.begin(), metrics.end(), [&](const auto& named) { return named.first == name; });
}

}  // namespace

void FollowTrends(const Config& config, ScheduleState* state, Metrics* metrics) {
  const std::optional<double> average = RewardAverage(*state);
  if (AveragesRewards(config) && average) metrics->emplace_back(kRewardMovingAverage, *average);
  const std::optional<FailureRule> rule = Traits(config).trends(config).failures;
  if (!rule) return;
  const auto passed = Find(*metrics, rule->passed);
  if (passed == metrics->end()) return;  // no evaluation
  state->failures_in_a_row = passed->second == 1 ? 0 : state->failures_in_a_row + 1;
  metrics->emplace_back(rule->failures, static_cast<double>(state->failures_in_a_row));
}

void SftWindow::Follow(int64_t step, Metrics* metrics) {
  if (!rule_) return;
  const auto value = Find(*metrics, rule_->metric);
  CHECK(value != metrics->end());
  recent_.push_back(value->second);
  Forget();
  metrics->emplace_back(kSftWindow, Mean());
  if (step < steps_ && HasConverged()) metrics->emplace_back(kSftStepsLeft, static_cast<double>(steps_ - step));
}

bool SftWindow::HasConverged() const {
  return rule_ && static_cast<int64_t>(recent_.size()) >= rule_->window && Mean() >= rule_->threshold;
}

void SftWindow::Restore(absl::Span<const double> numbers) {
  recent_.assign(numbers.begin(), numbers.end());
  if (rule_) Forget();
}

double SftWindow::Mean() const { return kernels::TreeSum(recent_) / static_cast<double>(recent_.size()); }

void SftWindow::Forget() {
  const size_t window = static_cast<size_t>(rule_->window);
  if (recent_.size() > window) recent_.erase(recent_.begin(), recent_.end() - static_cast<std::ptrdiff_t>(window));
}

}  // namespace reprise::rl
