#ifndef RL_EPISODES_ACTION_CHECKS_H_
#define RL_EPISODES_ACTION_CHECKS_H_

// Determines which action tokens, and which episodes, are learned, for environments whose actions are JSON within text
// (rl/environments/grid_navigation). The result is a function of the tokens alone, so that a replay computes the same.

#include <optional>

#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/environment/player.h"
#include "rl/environments/grid_navigation/action_mask.h"
#include "rl/environments/grid_navigation/episode_check.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl {

struct ActionCheckOptions {
  bool masks_reasoning = false;  // only the tokens of the JSON action are learned
  bool drops_invalid = false;    // an episode that CheckEpisode calls invalid has no learned tokens
  grid_navigation::ActionTokenRange range = {};
  int64_t choices = 4;  // number of choices of an answer
};

// Called only where ChecksActions (rl/workloads/completions/section/environment_section.h) is true; otherwise turns
// have no ActionCheck.
ActionCheckOptions MakeActionCheckOptions(const EnvironmentConfig& config);

// Gives every turn of the episode its check; sets the episode's decisions and whether it is invalid. Pure.
void CheckActions(const models::Tokenizer& tokenizer, const TurnRules& rules, const ActionCheckOptions& options,
                  EpisodeRecord* episode);

// Returns the result of the turns' checks; nullopt where actions are not checked. Pure.
std::optional<grid_navigation::EpisodeCheck> SummarizeChecks(const CompletionEpisode& episode);

}  // namespace reprise::rl

#endif  // RL_EPISODES_ACTION_CHECKS_H_
