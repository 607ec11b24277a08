#ifndef RL_ADVANTAGE_ADVANTAGES_H_
#define RL_ADVANTAGE_ADVANTAGES_H_

// From a batch's rewards to its advantages, by the choices of an algorithm.

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rl/advantage/group_relative.h"
#include "rl/advantage/reward_table.h"

namespace reprise::rl {

enum class Baseline { kGroupMean, kLeaveOneOut };
enum class RewardAggregation { kSumThenNormalize, kNormalizeThenSum };

// "sum_then_normalize", "normalize_then_sum".
absl::StatusOr<RewardAggregation> ParseRewardAggregation(absl::string_view name);
absl::string_view RewardAggregationName(RewardAggregation aggregation);

struct AdvantageOptions {
  Baseline baseline = Baseline::kGroupMean;
  double advantage_epsilon = kAdvantageEpsilon;  // added to every standard deviation that divides
  // Of kGroupMean.
  ScaleRewards scale_rewards = ScaleRewards::kGroup;
  RewardAggregation multi_objective_aggregation = RewardAggregation::kSumThenNormalize;
  // Of kLeaveOneOut.
  bool normalize_advantages = false;
  double reward_beta = 0.0;  // weight of the divergence that is taken from the reward
  std::optional<std::pair<double, double>> reward_clip_range = {};
};

// One advantage a sample, 0 for what no function could score. sequence_kl_N: see PenalizedRewards; read only when
// reward_beta != 0. Pure; groups are independent unless the options normalise over the batch.
std::vector<double> Advantages(const RewardTable& table, const AdvantageOptions& options,
                               absl::Span<const double> sequence_kl_N);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_ADVANTAGES_H_
