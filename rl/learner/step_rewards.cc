#include "rl/learner/step_rewards.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/comm/collectives.h"
#include "core/status/status_macros.h"
#include "rl/learner/step_loss.h"
#include "rl/learner/wire.h"

namespace reprise::rl {

absl::Status ScoreEpisodes(const models::Tokenizer& tokenizer, RewardFunction reward, absl::string_view reward_name,
                           Step* step) {
  for (EpisodeRecord& episode : step->share.episode_N) {
    const TaskRecord& task = step->TaskOf(episode);
    std::vector<int32_t> tokens = episode.tokens;
    if (episode.terminated) tokens.pop_back();
    const std::string text = tokenizer.Decode(tokens);
    episode.reward = reward({task.text, task.answer, text, episode.terminated});
    if (!std::isfinite(episode.reward)) {
      return absl::InternalError(absl::StrCat("the reward ", reward_name, " of prompt ", episode.prompt, " sample ",
                                              episode.sample, " is ", episode.reward));
    }
    episode.rewards_F = {episode.reward};
  }
  return absl::OkStatus();
}

absl::Status AssignAdvantages(Communicator& comm, const AdvantageOptions& options, Step* step) {
  WireWriter mine;
  for (const EpisodeRecord& episode : step->share.episode_N) {
    mine.PutArray(episode.rewards_F);
    mine.Put(options.reward_beta == 0 ? 0.0 : SequenceDivergence(episode));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllgatherBytes(comm, mine.bytes()));
  std::vector<double> rewards_NF, divergence_N;
  for (const std::string& bytes : all) {
    for (WireReader reader(bytes); !reader.done();) {
      for (double reward : reader.GetArray<double>()) rewards_NF.push_back(reward);
      divergence_N.push_back(reader.Get<double>());
    }
  }
  const std::vector<double> weights_F = {1.0};
  const std::vector<double> advantages = Advantages({rewards_NF, weights_F, step->generations}, options, divergence_N);
  for (double advantage : advantages) step->any_advantage |= advantage != 0;
  const size_t first = static_cast<size_t>(step->first_prompt * step->generations);
  for (size_t i = 0; i < step->share.episode_N.size(); ++i) {
    step->share.episode_N[i].advantage = advantages[first + i];
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
