// Episode-level RLOO on episodes of several turns: loss = -(1/N) sum_i A_i S_i, S_i: the log-probs of all tokens of
// actions, in all turns of episode i, that are learned.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random/draw.h"
#include "gtest/gtest.h"
#include "rl/advantage/leave_one_out.h"
#include "rl/algorithm/algorithm.h"
#include "rl/loss/policy_loss.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_turns.h"

namespace reprise::rl {
namespace {

// Episodes of 1, 2, 6 and 3 turns, each a few tokens of observation, one of reasoning and a few of action.
std::vector<EpisodeRecord> SomeEpisodes() {
  std::vector<EpisodeRecord> episodes;
  for (int64_t turns : {1, 2, 6, 3}) {
    EpisodeRecord episode;
    CompletionEpisode completion;
    for (int64_t turn = 0; turn < turns; ++turn) {
      TurnRecord t = {.observation_tokens = turn % 3, .action_tokens = 3 + turn % 2, .reply = std::nullopt};
      t.check = ActionCheck{.learned_begin = 1, .learned_end = t.action_tokens};
      for (int64_t token = 0; token < t.observation_tokens + t.action_tokens; ++token) {
        const DrawAt at = {
            .sample = episodes.size(), .turn = static_cast<uint64_t>(turn), .token = static_cast<uint64_t>(token)};
        completion.tokens.push_back(5);
        episode.logprobs.push_back(static_cast<float>(-3.0 * DrawUniform(4, Purpose::kTest, at)));
      }
      completion.turn_K.push_back(t);
    }
    episode.decisions = MakeDecisions(completion);
    episodes.push_back(episode);
  }
  return episodes;
}

SequenceLoss LossOf(const EpisodeRecord& episode, double advantage, const LossOptions& options) {
  const std::vector<double> logprob_T(episode.logprobs.begin(), episode.logprobs.end());
  const std::vector<uint8_t>& mask_T = episode.decisions.learned_T;
  const std::vector<int32_t>& turn_T = episode.decisions.turn_T;
  return PolicyLoss({.logprob_T = logprob_T, .mask_T = mask_T, .advantage = advantage, .turn_T = turn_T}, options,
                    {.num_sequences = 4});
}

SequenceLoss LossOf(const EpisodeRecord& episode, double advantage) {
  return LossOf(episode, advantage, FindAlgorithm("episode_rloo")->loss);
}

// The loss of all episodes at once, by its formula.
double JointLoss(const std::vector<EpisodeRecord>& episodes, const std::vector<double>& advantage_N) {
  double loss = 0.0;
  for (size_t i = 0; i < episodes.size(); ++i) {
    const std::vector<uint8_t>& mask_T = episodes[i].decisions.learned_T;
    for (size_t t = 0; t < mask_T.size(); ++t) {
      if (mask_T[t] != 0) loss -= advantage_N[i] * static_cast<double>(episodes[i].logprobs[t]) / 4;
    }
  }
  return loss;
}

const std::vector<double> kRewards = {1, 0, 0, 1};

TEST(EpisodeRlooTest, TheLossesOfSingleEpisodesSumToTheJointLossAndItsGradient) {
  std::vector<EpisodeRecord> episodes = SomeEpisodes();
  const std::vector<double> advantage_N = EpisodeLeaveOneOut(kRewards)->advantage_N;
  const double joint = JointLoss(episodes, advantage_N);
  double loss = 0.0;
  for (size_t i = 0; i < episodes.size(); ++i) loss += LossOf(episodes[i], advantage_N[i]).loss;
  EXPECT_NEAR(loss, joint, 1e-14);
  for (size_t i = 0; i < episodes.size(); ++i) {
    const std::vector<double> slope_T = LossOf(episodes[i], advantage_N[i]).dloss_dlogprob_T;
    for (size_t t = 0; t < slope_T.size(); ++t) {
      float& logprob = episodes[i].logprobs[t];
      const float before = logprob;
      logprob += 0.25f;
      const double moved = static_cast<double>(logprob) - static_cast<double>(before);
      EXPECT_NEAR(slope_T[t], (JointLoss(episodes, advantage_N) - joint) / moved, 1e-12);
      logprob = before;
    }
  }
}

TEST(EpisodeRlooTest, GivesOnlyActionTokensOfEveryTurnTheEpisodesAdvantage) {
  const std::vector<EpisodeRecord> episodes = SomeEpisodes();
  const EpisodeAdvantages advantages = *EpisodeLeaveOneOut(kRewards);
  for (size_t i = 0; i < episodes.size(); ++i) {
    const SequenceLoss loss = LossOf(episodes[i], advantages.advantage_N[i]);
    const std::vector<uint8_t>& mask_T = episodes[i].decisions.learned_T;
    for (size_t t = 0; t < mask_T.size(); ++t) {
      EXPECT_EQ(loss.dloss_dlogprob_T[t], mask_T[t] != 0 ? -advantages.advantage_N[i] / 4 : 0.0);
    }
  }
}

TEST(EpisodeRlooTest, ByTurnsAveragesTheActionsOfATurnFirst) {
  LossOptions options = FindAlgorithm("episode_rloo")->loss;
  options.aggregation = Aggregation::kTurnMean;
  const EpisodeRecord episode = SomeEpisodes()[3];
  const std::vector<uint8_t>& mask_T = episode.decisions.learned_T;
  const std::vector<int32_t>& turn_T = episode.decisions.turn_T;
  const SequenceLoss loss = LossOf(episode, 0.5, options);
  for (size_t t = 0; t < mask_T.size(); ++t) {
    const double learned_of_turn = turn_T[t] == 1 ? 3 : 2;
    EXPECT_NEAR(loss.dloss_dlogprob_T[t], mask_T[t] != 0 ? -0.5 / (4 * 3 * learned_of_turn) : 0.0, 1e-15);
  }
}

TEST(EpisodeRlooTest, DoesNotDependOnTheOrderOfEpisodes) {
  const std::vector<EpisodeRecord> episodes = SomeEpisodes();
  std::vector<double> rewards = kRewards;
  const EpisodeAdvantages forward = *EpisodeLeaveOneOut(rewards);
  std::reverse(rewards.begin(), rewards.end());
  const EpisodeAdvantages backward = *EpisodeLeaveOneOut(rewards);
  for (size_t i = 0; i < episodes.size(); ++i) {
    EXPECT_EQ(LossOf(episodes[i], forward.advantage_N[i]).dloss_dlogprob_T,
              LossOf(episodes[i], backward.advantage_N[3 - i]).dloss_dlogprob_T);
  }
}

TEST(EpisodeRlooTest, CountsAnEpisodeWithoutActionsOnlyInTheBaseline) {
  const SequenceLoss loss = LossOf({}, 0.5);
  EXPECT_EQ(loss.loss, 0.0);
  EXPECT_TRUE(loss.dloss_dlogprob_T.empty());
}

}  // namespace
}  // namespace reprise::rl
