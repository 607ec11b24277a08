#include "rl/advantage/reward_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/status/check.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {

void CheckRewardTable(const RewardTable& table) {
  CHECK_GE(table.num_functions(), 1);
  CHECK_GE(table.num_generations, 1);
  CHECK_EQ(static_cast<int64_t>(table.rewards_NF.size()) % table.num_functions(), 0);
  CHECK_EQ(table.num_samples() % table.num_generations, 0);
}

std::vector<double> FunctionRewards(const RewardTable& table, int64_t function) {
  std::vector<double> rewards_N;
  for (int64_t n = 0; n < table.num_samples(); ++n) {
    rewards_N.push_back(table.rewards_NF[n * table.num_functions() + function]);
  }
  return rewards_N;
}

std::vector<double> WeightedRewards(const RewardTable& table) {
  CheckRewardTable(table);
  const bool any_counts =
      std::any_of(table.weights_F.begin(), table.weights_F.end(), [](double weight) { return weight != 0; });
  std::vector<double> rewards_N;
  for (int64_t n = 0; n < table.num_samples(); ++n) {
    double sum = 0.0;
    bool scorable = false;
    for (int64_t f = 0; f < table.num_functions(); ++f) {
      const double reward = table.rewards_NF[n * table.num_functions() + f];
      if (std::isnan(reward)) continue;
      sum += table.weights_F[f] * reward;
      scorable = scorable || table.weights_F[f] != 0 || !any_counts;
    }
    rewards_N.push_back(scorable ? sum : std::numeric_limits<double>::quiet_NaN());
  }
  return rewards_N;
}

std::vector<double> NormalizeThenSumAdvantages(const RewardTable& table, double epsilon) {
  std::vector<double> sums_N = WeightedRewards(table);  // kept where no function could score: NaN
  for (double& sum : sums_N) {
    if (!std::isnan(sum)) sum = 0.0;
  }
  for (int64_t f = 0; f < table.num_functions(); ++f) {
    // Samples that f could not score also have advantage 0, which adds nothing.
    const std::vector<double> normalised_N = GroupRelativeAdvantages(FunctionRewards(table, f), table.num_generations,
                                                                     ScaleRewards::kGroup, {.epsilon = epsilon});
    for (size_t n = 0; n < sums_N.size(); ++n) sums_N[n] += table.weights_F[f] * normalised_N[n];
  }
  return WhitenCentredGroups(sums_N, table.num_generations, epsilon);
}

}  // namespace reprise::rl
