// Episode-level RLOO on episodes of several turns: loss = -(1/N) sum_i A_i S_i, S_i: the log-probs of all action tokens
// of all turns of episode i.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random/draw.h"
#include "gtest/gtest.h"
#include "rl/advantage/episode_leave_one_out.h"
#include "rl/algorithm/algorithm.h"
#include "rl/episode/episode.h"
#include "rl/loss/policy_loss.h"

namespace reprise::rl {
namespace {

// Episodes of 1, 2, 6 and 3 turns, each a few tokens of observation and then of action.
std::vector<Episode> SomeEpisodes() {
  std::vector<Episode> episodes;
  for (int64_t turns : {1, 2, 6, 3}) {
    Episode episode;
    for (int64_t turn = 0; turn < turns; ++turn) {
      Turn t;
      t.observation_tokens.assign(static_cast<size_t>(turn % 3), 7);
      for (uint64_t token = 0; token < static_cast<uint64_t>(2 + turn % 2); ++token) {
        const DrawAt at = {.sample = episodes.size(), .turn = static_cast<uint64_t>(turn), .token = token};
        t.action_tokens.push_back(5);
        t.action_logprobs.push_back(-3.0 * DrawUniform(4, Purpose::kTest, at));
      }
      episode.turns.push_back(t);
    }
    episodes.push_back(episode);
  }
  return episodes;
}

SequenceLoss LossOf(const Episode& episode, double advantage, double num_episodes) {
  const std::vector<double> logprob_T = OldLogprobs(episode);
  const std::vector<uint8_t> mask_T = ActionMask(episode);
  return PolicyLoss({.logprob_T = logprob_T, .mask_T = mask_T, .advantage = advantage},
                    FindAlgorithm("episode_rloo")->loss, {.num_sequences = num_episodes});
}

const std::vector<double> kRewards = {1, 0, 0, 1};

TEST(EpisodeRlooTest, IsTheMeanOfAdvantagesTimesSumsOfLogProbs) {
  const std::vector<Episode> episodes = SomeEpisodes();
  const EpisodeAdvantages advantages = *EpisodeLeaveOneOut(kRewards, {});
  double loss = 0.0, expected = 0.0;
  for (size_t i = 0; i < episodes.size(); ++i) {
    loss += LossOf(episodes[i], advantages.advantage_N[i], 4).loss;
    for (double logprob : ActionLogprobs(episodes[i])) expected -= advantages.advantage_N[i] * logprob / 4;
  }
  EXPECT_NEAR(loss, expected, 1e-14);
}

TEST(EpisodeRlooTest, GivesEveryActionTokenOfEveryTurnTheEpisodesAdvantage) {
  const std::vector<Episode> episodes = SomeEpisodes();
  const EpisodeAdvantages advantages = *EpisodeLeaveOneOut(kRewards, {});
  for (size_t i = 0; i < episodes.size(); ++i) {
    const SequenceLoss loss = LossOf(episodes[i], advantages.advantage_N[i], 4);
    const std::vector<uint8_t> mask_T = ActionMask(episodes[i]);
    for (size_t t = 0; t < mask_T.size(); ++t) {
      EXPECT_EQ(loss.dloss_dlogprob_T[t], mask_T[t] != 0 ? -advantages.advantage_N[i] / 4 : 0.0);
    }
  }
}

TEST(EpisodeRlooTest, DoesNotKnowTheOrderOfEpisodes) {
  std::vector<Episode> episodes = SomeEpisodes();
  std::vector<double> rewards = kRewards;
  const EpisodeAdvantages forward = *EpisodeLeaveOneOut(rewards, {});
  std::reverse(rewards.begin(), rewards.end());
  const EpisodeAdvantages backward = *EpisodeLeaveOneOut(rewards, {});
  for (size_t i = 0; i < episodes.size(); ++i) {
    EXPECT_EQ(LossOf(episodes[i], forward.advantage_N[i], 4).dloss_dlogprob_T,
              LossOf(episodes[i], backward.advantage_N[3 - i], 4).dloss_dlogprob_T);
  }
}

TEST(EpisodeRlooTest, LearnsNothingFromAnEpisodeWithoutActionsButComparesWithIt) {
  const SequenceLoss loss = LossOf({}, 0.5, 4);
  EXPECT_EQ(loss.loss, 0.0);
  EXPECT_TRUE(loss.dloss_dlogprob_T.empty());
}

}  // namespace
}  // namespace reprise::rl
