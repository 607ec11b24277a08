#include "rl/advantage/episode_leave_one_out.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {
namespace {

// The indices of each group's episodes in ascending order, by group id.
std::map<int64_t, std::vector<size_t>> Members(size_t episodes, absl::Span<const int64_t> group_N) {
  std::map<int64_t, std::vector<size_t>> members;
  for (size_t n = 0; n < episodes; ++n) members[group_N.empty() ? 0 : group_N[n]].push_back(n);
  return members;
}

absl::Status CheckSize(size_t episodes, int64_t group, bool one_group, const EpisodeLeaveOneOutOptions& options) {
  if (episodes >= 2 || options.allow_lone_episode) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("LOO baseline requires N >= 2 episodes, got ", episodes,
                                                 one_group ? "" : absl::StrCat(" in group ", group)));
}

void FillGroup(absl::Span<const double> reward_N, const std::vector<size_t>& members, EpisodeAdvantages* result) {
  std::vector<double> rewards;
  for (size_t n : members) rewards.push_back(reward_N[n]);
  std::sort(rewards.begin(), rewards.end());
  const bool lone = members.size() == 1, equal = !lone && AllScorableEqual(rewards);
  const double sum = SumOfScorable(rewards), others = static_cast<double>(members.size()) - 1.0;
  for (size_t n : members) {
    double& baseline = result->baseline_N[n];
    baseline = lone ? 0.0 : equal ? reward_N[n] : (sum - reward_N[n]) / others;
    result->advantage_N[n] = reward_N[n] - baseline;
  }
}

void Normalize(double epsilon, std::vector<double>* advantage_N) {
  std::vector<double> ascending_N = *advantage_N;
  std::sort(ascending_N.begin(), ascending_N.end());
  if (AllScorableEqual(ascending_N)) return;
  const double mean = MeanOfScorable(ascending_N), deviation = DeviationOfScorable(ascending_N);
  for (double& advantage : *advantage_N) advantage = (advantage - mean) / (deviation + epsilon);
}

}  // namespace

absl::StatusOr<EpisodeAdvantages> EpisodeLeaveOneOut(absl::Span<const double> reward_N,
                                                     absl::Span<const int64_t> group_N,
                                                     const EpisodeLeaveOneOutOptions& options) {
  if (!group_N.empty()) CHECK_EQ(group_N.size(), reward_N.size());
  for (double reward : reward_N) CHECK(std::isfinite(reward));
  if (reward_N.empty()) RETURN_IF_ERROR(CheckSize(0, 0, true, options));
  EpisodeAdvantages result = {std::vector<double>(reward_N.size()), std::vector<double>(reward_N.size())};
  for (const auto& [group, members] : Members(reward_N.size(), group_N)) {
    RETURN_IF_ERROR(CheckSize(members.size(), group, group_N.empty(), options));
    FillGroup(reward_N, members, &result);
  }
  if (options.normalize) Normalize(options.epsilon, &result.advantage_N);
  return result;
}

}  // namespace reprise::rl
