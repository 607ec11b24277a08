#include "rl/advantage/length_weighted.h"

#include <algorithm>
#include <cmath>

#include "core/status/check.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {
namespace {

double BaselineOf(absl::Span<const double> rewards, absl::Span<const int64_t> lengths) {
  std::vector<double> weighted, length;
  double some_reward = 0.0;
  for (size_t i = 0; i < rewards.size(); ++i) {
    if (std::isnan(rewards[i])) continue;
    some_reward = rewards[i];
    length.push_back(static_cast<double>(lengths[i]));
    weighted.push_back(length.back() * rewards[i]);
  }
  if (AllScorableEqual(rewards)) return some_reward;
  const double total = SumOfScorable(length);
  return total == 0.0 ? MeanOfScorable(rewards) : SumOfScorable(weighted) / total;
}

}  // namespace

std::vector<double> LengthWeightedBaseline(absl::Span<const double> rewards_N, absl::Span<const int64_t> length_N,
                                           int64_t num_generations) {
  CHECK_GE(num_generations, 1);
  CHECK_EQ(length_N.size(), rewards_N.size());
  CHECK_EQ(static_cast<int64_t>(rewards_N.size()) % num_generations, 0);
  std::vector<double> baseline_N(rewards_N.size(), 0.0);
  for (size_t begin = 0; begin < rewards_N.size(); begin += num_generations) {
    const double baseline =
        BaselineOf(rewards_N.subspan(begin, num_generations), length_N.subspan(begin, num_generations));
    std::fill_n(baseline_N.begin() + begin, num_generations, baseline);
  }
  return baseline_N;
}

}  // namespace reprise::rl
