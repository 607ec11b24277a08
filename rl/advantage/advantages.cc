#include "rl/advantage/advantages.h"

#include "core/config/unknown_name.h"
#include "rl/advantage/leave_one_out.h"
#include "rl/advantage/normalize_then_sum.h"

namespace reprise::rl {
namespace {
constexpr absl::string_view kAggregations[] = {"sum_then_normalize", "normalize_then_sum"};
}  // namespace

absl::StatusOr<RewardAggregation> ParseRewardAggregation(absl::string_view name) {
  for (size_t i = 0; i < std::size(kAggregations); ++i) {
    if (name == kAggregations[i]) return static_cast<RewardAggregation>(i);
  }
  return UnknownName("multi_objective_aggregation", name, kAggregations);
}

absl::string_view RewardAggregationName(RewardAggregation aggregation) {
  return kAggregations[static_cast<size_t>(aggregation)];
}

std::vector<double> Advantages(const RewardTable& table, const AdvantageOptions& options,
                               absl::Span<const double> sequence_kl_N) {
  CheckRewardTable(table);
  if (options.baseline == Baseline::kLeaveOneOut) {
    const std::vector<double> rewards_N =
        PenalizedRewards(WeightedRewards(table), options.reward_clip_range, options.reward_beta, sequence_kl_N);
    return LeaveOneOutAdvantages(rewards_N, table.num_generations, options.normalize_advantages,
                                 options.advantage_epsilon);
  }
  if (options.multi_objective_aggregation == RewardAggregation::kNormalizeThenSum) {
    return NormalizeThenSumAdvantages(table, options.advantage_epsilon);
  }
  return GroupRelativeAdvantages(WeightedRewards(table), table.num_generations, options.scale_rewards,
                                 options.advantage_epsilon);
}

}  // namespace reprise::rl
