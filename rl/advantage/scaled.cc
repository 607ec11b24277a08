#include "rl/advantage/scaled.h"

#include <cmath>

#include "core/status/check.h"

namespace reprise::rl {

std::vector<double> ScaledAdvantages(absl::Span<const double> rewards_N, absl::Span<const double> baseline_N,
                                     int64_t num_generations, ScaleRewards scale, const Normalization& given) {
  CHECK_GE(num_generations, 1);
  const Normalization normalization = ForGroupsOf(num_generations, given);
  CHECK_EQ(baseline_N.size(), rewards_N.size());
  CHECK_EQ(static_cast<int64_t>(rewards_N.size()) % num_generations, 0);
  const Divisor batch = DivisorOf(rewards_N, normalization);
  std::vector<double> advantages_N(rewards_N.size(), 0.0);
  for (size_t begin = 0; begin < rewards_N.size(); begin += num_generations) {
    const absl::Span<const double> group = rewards_N.subspan(begin, num_generations);
    Divisor divisor = {.value = 1.0, .any_signal = true};
    if (scale == ScaleRewards::kGroup) divisor = DivisorOf(group, normalization);
    if (scale == ScaleRewards::kBatch) divisor = batch;
    if (!divisor.any_signal) continue;
    for (size_t i = 0; i < group.size(); ++i) {
      const double centred = group[i] - baseline_N[begin + i];
      if (!std::isnan(centred)) advantages_N[begin + i] = centred / divisor.value;
    }
  }
  return advantages_N;
}

}  // namespace reprise::rl
