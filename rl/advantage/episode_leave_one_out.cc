#include "rl/advantage/episode_leave_one_out.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "rl/advantage/leave_one_out.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {
namespace {

void Normalize(double epsilon, std::vector<double>* advantage_N) {
  std::vector<double> ascending_N = *advantage_N;
  std::sort(ascending_N.begin(), ascending_N.end());
  if (AllScorableEqual(ascending_N)) return;
  const double mean = MeanOfScorable(ascending_N), deviation = DeviationOfScorable(ascending_N);
  for (double& advantage : *advantage_N) advantage = (advantage - mean) / (deviation + epsilon);
}

}  // namespace

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
