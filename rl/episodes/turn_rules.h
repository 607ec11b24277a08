#ifndef RL_EPISODES_TURN_RULES_H_
#define RL_EPISODES_TURN_RULES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "rl/config/config.h"
#include "rl/environment/player.h"

namespace reprise::rl {

// Returns the rules by which a completion, or an action of an episode, ends: with one of the model's `end_tokens`,
// which come first in the result, with one of rollout.stop_token_ids, or with a text of rollout.stop (completions) or
// environment.stop (actions). InvalidArgument where one of these keys is not a JSON list.
absl::StatusOr<TurnRules> MakeTurnRules(const Config& config, const std::vector<int32_t>& end_tokens);

}  // namespace reprise::rl

#endif  // RL_EPISODES_TURN_RULES_H_
