#include "rl/advantage/optimal_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {

double OptimalValue(absl::Span<const double> rewards, const OptimalValueOptions& options) {
  CHECK_GT(options.beta1, 0.0);
  std::vector<double> scored;
  for (const double reward : rewards) {
    if (!std::isnan(reward)) scored.push_back(reward);
  }
  const bool all_incorrect = std::all_of(scored.begin(), scored.end(), [](double reward) { return reward == 0.0; });
  if (scored.empty() || (options.filter_all_incorrect && all_incorrect)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double greatest = *std::max_element(scored.begin(), scored.end());
  std::vector<double> powers;
  for (const double reward : scored) powers.push_back(kernels::Exp((reward - greatest) / options.beta1));
  return greatest + options.beta1 * kernels::Log(kernels::TreeSum(powers) / static_cast<double>(scored.size()));
}

}  // namespace reprise::rl
