#include "rl/learner/step_rewards.h"

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/advantage/reward_table.h"
#include "rl/learner/plausible.h"
#include "rl/reward/overlong.h"

namespace reprise::rl {

absl::StatusOr<std::vector<double>> RewardsOfCompletion(const models::Tokenizer& tokenizer,
                                                        const RewardOptions& options, const TaskRecord& task,
                                                        const std::vector<int32_t>& tokens, bool terminated,
                                                        absl::string_view whose) {
  std::vector<int32_t> written = tokens;
  if (terminated) written.pop_back();
  const std::string text = tokenizer.Decode(written);
  std::vector<double> rewards_F;
  for (const RewardFunction function : options.functions) {
    rewards_F.push_back(function({task.text, task.answer, text, terminated}));
  }
  if (options.soft_punish_cache > 0) {
    rewards_F.push_back(SoftOverlongPunishment(static_cast<int64_t>(tokens.size()), options.max_completion_length,
                                               options.soft_punish_cache));
  }
  if (options.missing_eos_penalty > 0) {
    rewards_F.push_back(MissingEosPenalty(!terminated, options.missing_eos_penalty));
  }
  for (size_t f = 0; f < rewards_F.size(); ++f) {
    if (IsPlausible(rewards_F[f])) continue;
    return absl::InternalError(absl::StrCat("the reward ", options.names_F[f], " of ", whose, " is ", rewards_F[f]));
  }
  return rewards_F;
}

absl::Status ScoreEpisodes(const models::Tokenizer& tokenizer, const RewardOptions& options, Step* step) {
  for (EpisodeRecord& episode : step->share.episode_N) {
    ASSIGN_OR_RETURN(episode.rewards_F,
                     RewardsOfCompletion(tokenizer, options, step->TaskOf(episode), episode.tokens, episode.terminated,
                                         absl::StrCat("prompt ", episode.prompt, " sample ", episode.sample)));
    episode.reward = WeightedRewards({episode.rewards_F, options.weights_F, 1})[0];
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
