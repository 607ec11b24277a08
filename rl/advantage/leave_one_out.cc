#include "rl/advantage/leave_one_out.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {
namespace {

// NaN where unscorable or where no other sample gives a baseline (excluded from a z-score, as in TRL); exactly 0 for
// all samples of a group of equal rewards.
std::vector<double> CentredByLeaveOneOut(absl::Span<const double> rewards_N, int64_t num_generations) {
  std::vector<double> centred_N(rewards_N.begin(), rewards_N.end());
  for (size_t begin = 0; begin < rewards_N.size(); begin += num_generations) {
    const absl::Span<const double> group = rewards_N.subspan(begin, num_generations);
    const std::vector<double> baseline = LeaveOneOutBaseline(group, SumOfScorable(group));
    for (size_t i = 0; i < group.size(); ++i) centred_N[begin + i] -= baseline[i];
  }
  return centred_N;
}

void Normalize(double epsilon, std::vector<double>* advantage_N) {
  std::vector<double> ascending_N = *advantage_N;
  std::sort(ascending_N.begin(), ascending_N.end());
  if (AllScorableEqual(ascending_N)) return;
  const double mean = MeanOfScorable(ascending_N), deviation = DeviationOfScorable(ascending_N);
  for (double& advantage : *advantage_N) advantage = (advantage - mean) / (deviation + epsilon);
}

}  // namespace

std::vector<double> LeaveOneOutBaseline(absl::Span<const double> group, double sum) {
  const bool equal = AllScorableEqual(group);
  const int64_t others = CountScorable(group) - 1;
  std::vector<double> baseline(group.begin(), group.end());
  for (double& reward : baseline) {
    if (others == 0) reward = std::numeric_limits<double>::quiet_NaN();
    if (!equal) reward = (sum - reward) / static_cast<double>(others);
  }
  return baseline;
}

std::vector<double> LeaveOneOutAdvantages(absl::Span<const double> rewards_N, int64_t num_generations, bool normalize,
                                          double epsilon) {
  CHECK_GE(num_generations, 1);
  CHECK_EQ(static_cast<int64_t>(rewards_N.size()) % num_generations, 0);
  std::vector<double> advantages_N = CentredByLeaveOneOut(rewards_N, num_generations);
  if (normalize) return WhitenCentredGroups(advantages_N, num_generations, epsilon);
  for (double& advantage : advantages_N) {
    if (std::isnan(advantage)) advantage = 0.0;
  }
  return advantages_N;
}

std::vector<double> ClippedRewards(absl::Span<const double> rewards_N,
                                   const std::optional<std::pair<double, double>>& reward_clip_range) {
  std::vector<double> clipped_N(rewards_N.begin(), rewards_N.end());
  if (!reward_clip_range) return clipped_N;
  for (double& reward : clipped_N) {
    if (!std::isnan(reward)) reward = std::clamp(reward, reward_clip_range->first, reward_clip_range->second);
  }
  return clipped_N;
}

std::vector<double> PenalizedRewards(absl::Span<const double> rewards_N,
                                     const std::optional<std::pair<double, double>>& reward_clip_range, double beta,
                                     absl::Span<const double> sequence_kl_N) {
  if (beta != 0.0) CHECK_EQ(sequence_kl_N.size(), rewards_N.size());
  std::vector<double> penalized_N = ClippedRewards(rewards_N, reward_clip_range);
  for (size_t n = 0; beta != 0.0 && n < penalized_N.size(); ++n) {
    if (!std::isnan(penalized_N[n])) penalized_N[n] -= beta * sequence_kl_N[n];
  }
  return penalized_N;
}

absl::StatusOr<EpisodeAdvantages> EpisodeLeaveOneOut(absl::Span<const double> reward_N,
                                                     const EpisodeLeaveOneOutOptions& options) {
  if (reward_N.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat("LOO baseline requires N >= 2 episodes, got ", reward_N.size()));
  }
  for (double reward : reward_N) CHECK(std::isfinite(reward));
  std::vector<double> ascending_N(reward_N.begin(), reward_N.end());
  std::sort(ascending_N.begin(), ascending_N.end());
  EpisodeAdvantages result = {LeaveOneOutBaseline(reward_N, SumOfScorable(ascending_N)),
                              {reward_N.begin(), reward_N.end()}};
  for (size_t n = 0; n < reward_N.size(); ++n) result.advantage_N[n] -= result.baseline_N[n];
  if (options.normalize) Normalize(options.epsilon, &result.advantage_N);
  return result;
}

}  // namespace reprise::rl
