#include "rl/workloads/memory_agent/operation_reward.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

constexpr double kUnknownQuality = 0.5;  // of a summary or a filter without input or output

double ComputeEfficiency(double latency_ms, const OperationRewardOptions& options) {
  if (latency_ms >= options.max_latency_ms) return 0;
  return kernels::Exp(1 - latency_ms / options.optimal_latency_ms);
}

double ComputeQuality(const OperationResult& result, const OperationRewardOptions& options) {
  const bool lacks_length = result.input_length <= 0 || result.output_length <= 0;
  const double share =
      lacks_length ? 0 : static_cast<double>(result.output_length) / static_cast<double>(result.input_length);
  switch (result.operation) {
    case data::MemoryOperation::kAdd:
    case data::MemoryOperation::kUpdate:
    case data::MemoryOperation::kDelete:
      return result.succeeded ? 1 : 0;
    case data::MemoryOperation::kRetrieve:
      return std::min(1.0, static_cast<double>(result.relevant.value_or(result.retrieved)) / options.optimal_retrieved);
    case data::MemoryOperation::kSummary:
      return lacks_length ? kUnknownQuality : 1 - std::fabs(share - options.summary_ratio);
    case data::MemoryOperation::kFilter:
      if (lacks_length) return kUnknownQuality;
      return 1 - share < options.filter_ratio ? (1 - share) / options.filter_ratio : 1;
  }
  return 0;
}

}  // namespace

OperationReward ComputeReward(const OperationResult& result, const OperationRewardOptions& options) {
  OperationReward reward;
  reward.task = result.succeeded ? options.success : options.failure;
  reward.efficiency = ComputeEfficiency(result.latency_ms, options);
  reward.quality = ComputeQuality(result, options);
  if (options.mode == RewardMode::kClamped) {
    reward.efficiency = std::clamp(reward.efficiency, 0.0, 1.0);
    reward.quality = std::clamp(reward.quality, 0.0, 1.0);
  }
  reward.composite = options.task_weight * reward.task + options.efficiency_weight * reward.efficiency +
                     options.quality_weight * reward.quality;
  return reward;
}

double DiscountedReward(absl::Span<const double> reward_T, double discount) {
  std::vector<double> terms;
  double weight = 1;
  for (const double reward : reward_T) {
    terms.push_back(weight * reward);
    weight *= discount;
  }
  return kernels::TreeSum(terms);
}

double RecallBonus(int64_t found, int64_t wanted, double weight, int64_t steps) {
  CHECK_GE(wanted, 1);
  CHECK_GE(steps, 1);
  const double share = std::min(1.0, static_cast<double>(found) / static_cast<double>(wanted));
  return weight * share / static_cast<double>(steps);
}

}  // namespace reprise::rl
