#include "rl/advantage/group_relative.h"

#include <algorithm>
#include <cmath>

#include "core/config/unknown_name.h"
#include "core/status/check.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {
namespace {

constexpr absl::string_view kNames[] = {"group", "batch", "none"};  // in the order of the enumeration

double ComputeBaseline(absl::Span<const double> rewards, absl::Span<const int64_t> lengths) {
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

absl::StatusOr<ScaleRewards> ParseScaleRewards(absl::string_view name) {
  return ParseName<ScaleRewards>("scale_rewards", name, kNames);
}

absl::string_view ScaleRewardsName(ScaleRewards scale) { return kNames[static_cast<size_t>(scale)]; }

Divisor ComputeDivisor(absl::Span<const double> rewards, const Normalization& normalization) {
  if (normalization.lone_sample_keeps_reward && CountScorable(rewards) == 1) return {1.0 + normalization.epsilon, true};
  if (AllScorableEqual(rewards)) return {};
  return {DeviationOfScorable(rewards, normalization.ddof) + normalization.epsilon, true};
}

Normalization AdjustForGroupSize(int64_t num_generations, Normalization normalization) {
  normalization.lone_sample_keeps_reward &= num_generations == 1;
  return normalization;
}

std::vector<double> GroupRelativeAdvantages(absl::Span<const double> rewards_N, int64_t num_generations,
                                            ScaleRewards scale, const Normalization& given) {
  CHECK_GE(num_generations, 1);
  const Normalization normalization = AdjustForGroupSize(num_generations, given);
  CHECK_EQ(static_cast<int64_t>(rewards_N.size()) % num_generations, 0);
  const Divisor batch = scale == ScaleRewards::kBatch ? ComputeDivisor(rewards_N, normalization) : Divisor{};
  std::vector<double> advantages_N(rewards_N.size(), 0.0);
  for (size_t begin = 0; begin < rewards_N.size(); begin += num_generations) {
    const absl::Span<const double> group = rewards_N.subspan(begin, num_generations);
    const Divisor own = ComputeDivisor(group, normalization);
    const bool lone = normalization.lone_sample_keeps_reward && CountScorable(group) == 1;
    if (!own.any_signal || (scale == ScaleRewards::kBatch && !batch.any_signal)) continue;
    const double mean = lone ? 0.0 : MeanOfScorable(group);
    const double divisor = scale == ScaleRewards::kGroup   ? own.value
                           : scale == ScaleRewards::kBatch ? batch.value
                                                           : 1.0;
    for (size_t i = 0; i < group.size(); ++i) {
      if (!std::isnan(group[i])) advantages_N[begin + i] = (group[i] - mean) / divisor;
    }
  }
  return advantages_N;
}

std::vector<double> ScaledAdvantages(absl::Span<const double> rewards_N, absl::Span<const double> baseline_N,
                                     int64_t num_generations, ScaleRewards scale, const Normalization& given) {
  CHECK_GE(num_generations, 1);
  const Normalization normalization = AdjustForGroupSize(num_generations, given);
  CHECK_EQ(baseline_N.size(), rewards_N.size());
  CHECK_EQ(static_cast<int64_t>(rewards_N.size()) % num_generations, 0);
  const Divisor batch = ComputeDivisor(rewards_N, normalization);
  std::vector<double> advantages_N(rewards_N.size(), 0.0);
  for (size_t begin = 0; begin < rewards_N.size(); begin += num_generations) {
    const absl::Span<const double> group = rewards_N.subspan(begin, num_generations);
    Divisor divisor = {.value = 1.0, .any_signal = true};
    if (scale == ScaleRewards::kGroup) divisor = ComputeDivisor(group, normalization);
    if (scale == ScaleRewards::kBatch) divisor = batch;
    if (!divisor.any_signal) continue;
    for (size_t i = 0; i < group.size(); ++i) {
      const double centred = group[i] - baseline_N[begin + i];
      if (!std::isnan(centred)) advantages_N[begin + i] = centred / divisor.value;
    }
  }
  return advantages_N;
}

std::vector<double> LengthWeightedBaseline(absl::Span<const double> rewards_N, absl::Span<const int64_t> length_N,
                                           int64_t num_generations) {
  CHECK_GE(num_generations, 1);
  CHECK_EQ(length_N.size(), rewards_N.size());
  CHECK_EQ(static_cast<int64_t>(rewards_N.size()) % num_generations, 0);
  std::vector<double> baseline_N(rewards_N.size(), 0.0);
  for (size_t begin = 0; begin < rewards_N.size(); begin += num_generations) {
    const double baseline =
        ComputeBaseline(rewards_N.subspan(begin, num_generations), length_N.subspan(begin, num_generations));
    std::fill_n(baseline_N.begin() + begin, num_generations, baseline);
  }
  return baseline_N;
}

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
