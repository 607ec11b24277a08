#include "rl/episodes/step_rewards.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/advantage/reward_table.h"
#include "rl/config/reward_choice.h"
#include "rl/record/bounds.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_turns.h"
#include "rl/reward/reward.h"

namespace reprise::rl {

namespace {

Scored MakeScoredEpisode(const models::Tokenizer& tokenizer, const RewardOptions& options,
                         const EpisodeRecord& episode) {
  const CompletionEpisode& completion = CompletionOf(episode);
  const absl::Span<const int32_t> tokens = completion.tokens;
  Scored scored;
  if (completion.turn_K.empty()) {
    scored = MakeScoredCompletion(tokenizer, options.rules, tokens, episode.terminated);
    scored.process_reward = completion.process_reward;
    return scored;
  }
  scored.process_reward = completion.process_reward;
  scored.text =
      ActionText(tokenizer, options.rules, tokens.last(static_cast<size_t>(completion.turn_K.back().action_tokens)));
  scored.tokens = static_cast<int64_t>(tokens.size());
  scored.terminated = episode.terminated;
  scored.environment_reward = EnvironmentReward(completion, options.turn_reward);
  return scored;
}

}  // namespace

Scored MakeScoredCompletion(const models::Tokenizer& tokenizer, const TurnRules& rules,
                            absl::Span<const int32_t> tokens, bool terminated) {
  Scored scored;
  scored.tokens = static_cast<int64_t>(tokens.size());
  scored.text = ActionText(tokenizer, rules, tokens);
  scored.terminated = terminated;
  return scored;
}

absl::StatusOr<std::vector<double>> RewardsOfCompletion(const RewardOptions& options, const CompletionTask& task,
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
                     RewardsOfCompletion(options, CompletionOf(FindTask(task_P, episode)),
                                         MakeScoredEpisode(tokenizer, options, episode),
                                         absl::StrCat("prompt ", episode.prompt, " sample ", episode.sample)));
    if (options.columns.by_turn)
      episode.earned_T = EnvironmentRewardByToken(CompletionOf(episode), options.turn_reward);
    episode.reward = WeightedRewards({episode.rewards_F, options.columns.weights_F, 1})[0];
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
