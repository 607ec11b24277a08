#include "rl/advantage/sample_weights.h"

#include <cmath>

#include "core/status/check.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {

std::vector<double> DynamicSamplingWeights(absl::Span<const double> rewards_N, int64_t num_generations) {
  CHECK_GE(num_generations, 1);
  CHECK_EQ(static_cast<int64_t>(rewards_N.size()) % num_generations, 0);
  std::vector<double> weight_N(rewards_N.size(), 0.0);
  for (size_t begin = 0; begin < rewards_N.size(); begin += num_generations) {
    const absl::Span<const double> group = rewards_N.subspan(begin, num_generations);
    if (AllScorableEqual(group)) continue;
    for (size_t i = 0; i < group.size(); ++i) weight_N[begin + i] = std::isnan(group[i]) ? 0.0 : 1.0;
  }
  return weight_N;
}

}  // namespace reprise::rl
