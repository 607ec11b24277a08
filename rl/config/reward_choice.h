#ifndef RL_CONFIG_REWARD_CHOICE_H_
#define RL_CONFIG_REWARD_CHOICE_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rl/algorithm/algorithm.h"

namespace reprise::rl {

// The name of an environment's reward, among reward functions.
inline constexpr absl::string_view kEnvironmentReward = "environment";
// The name of the reward that the external process of process.command gives for a whole episode.
inline constexpr absl::string_view kProcessReward = "process";

// The parts of a completion's reward, by name: the reward functions, then the enabled punishments, soft_overlong and
// missing_eos, of weight 1 each.
struct RewardChoice {
  std::vector<std::string> functions;  // of algorithm.reward
  std::vector<std::string> names_F;    // including the punishments
  std::vector<double> weights_F;

  bool Names(absl::string_view reward) const {
    return std::find(functions.begin(), functions.end(), reward) != functions.end();
  }
};

// Returns InvalidArgument, naming the keys, for weights that are not finite numbers or not one per reward, and for a
// reward that is named twice. Pure.
absl::StatusOr<RewardChoice> ParseRewardChoice(const RewardSelection& selection);

// Returns InvalidArgument where every weight is 0 and no punishment is enabled, so that every reward is 0; OK for other
// errors of ParseRewardChoice. Pure.
absl::Status CheckSomeRewardCounts(const RewardSelection& selection);

}  // namespace reprise::rl

#endif  // RL_CONFIG_REWARD_CHOICE_H_
