#include "rl/episodes/step_rewards.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/advantage/reward_table.h"
#include "rl/config/reward_choice.h"
#include "rl/record/bounds.h"
#include "rl/record/record_turns.h"
#include "rl/reward/reward.h"

namespace reprise::rl {

namespace {

Scored ScoredEpisodeOf(const models::Tokenizer& tokenizer, const RewardOptions& options, const EpisodeRecord& episode) {
  Scored scored;
  if (episode.turn_K.empty()) {
    scored = ScoredCompletionOf(tokenizer, options.rules, episode.tokens, episode.terminated);
    scored.process_reward = episode.process_reward;
    return scored;
  }
  const absl::Span<const int32_t> tokens = episode.tokens;
  scored.process_reward = episode.process_reward;
  scored.text =
      ActionText(tokenizer, options.rules, tokens.last(static_cast<size_t>(episode.turn_K.back().action_tokens)));
  scored.tokens = static_cast<int64_t>(tokens.size());
  scored.terminated = episode.terminated;
  scored.environment_reward = EnvironmentReward(episode, options.turn_reward);
  return scored;
}

}  // namespace

Scored ScoredCompletionOf(const models::Tokenizer& tokenizer, const TurnRules& rules, absl::Span<const int32_t> tokens,
                          bool terminated) {
  Scored scored;
  scored.tokens = static_cast<int64_t>(tokens.size());
  scored.text = ActionText(tokenizer, rules, tokens);
  scored.terminated = terminated;
  return scored;
}

absl::StatusOr<std::vector<double>> RewardsOfCompletion(const RewardOptions& options, const TaskRecord& task,
                                                        const Scored& scored, absl::string_view whose) {
  std::vector<double> rewards_F;
  for (size_t f = 0; f < options.functions.size(); ++f) {
    const RewardFunction function = options.functions[f];
    if (function != nullptr) {
      rewards_F.push_back(function({task.text, task.answer, scored.text, scored.terminated}));
    } else {
      rewards_F.push_back(options.columns.names_F[f] == kProcessReward ? scored.process_reward
                                                                       : scored.environment_reward);
    }
  }
  if (options.soft_punish_cache > 0) {
    rewards_F.push_back(
        SoftOverlongPunishment(scored.tokens, options.max_completion_length, options.soft_punish_cache));
  }
  if (options.missing_eos_penalty > 0) {
    rewards_F.push_back(MissingEosPenalty(!scored.terminated, options.missing_eos_penalty));
  }
  for (size_t f = 0; f < rewards_F.size(); ++f) {
    const bool may_lack = f < options.functions.size() && options.columns.names_F[f] == kProcessReward;
    if (IsWithinBounds(rewards_F[f]) || (may_lack && std::isnan(rewards_F[f]))) continue;
    return absl::InternalError(
        absl::StrCat("the reward ", options.columns.names_F[f], " of ", whose, " is ", rewards_F[f]));
  }
  return rewards_F;
}

absl::Status ScoreEpisodes(const models::Tokenizer& tokenizer, const RewardOptions& options,
                           absl::Span<const TaskRecord> task_P, absl::Span<EpisodeRecord> episode_N) {
  for (EpisodeRecord& episode : episode_N) {
    ASSIGN_OR_RETURN(episode.rewards_F,
                     RewardsOfCompletion(options, TaskOf(task_P, episode), ScoredEpisodeOf(tokenizer, options, episode),
                                         absl::StrCat("prompt ", episode.prompt, " sample ", episode.sample)));
    if (options.columns.by_turn) episode.earned_T = EnvironmentRewardByToken(episode, options.turn_reward);
    episode.reward = WeightedRewards({episode.rewards_F, options.columns.weights_F, 1})[0];
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
