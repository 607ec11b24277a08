#include "rl/record/completions/record_turns.h"

#include "gtest/gtest.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl {
namespace {

CompletionEpisode TwoTurns() {
  CompletionEpisode episode;
  episode.tokens = {7, 8, 20, 21, 22, 9};
  episode.turn_K = {{0, 2, true, Reply{.observation = "abc", .reward = 0.25}},
                    {3, 1, true, Reply{.observation = "", .reward = 1, .done = true}}};
  return episode;
}

TEST(RecordTurnsTest, DistinguishTokensOfThePolicyFromObservations) {
  EXPECT_EQ(MakeDecisions(TwoTurns()).drawn_T, (std::vector<uint8_t>{1, 1, 0, 0, 0, 1}));
  EXPECT_EQ(MakeDecisions(TwoTurns()).turn_T, (std::vector<int32_t>{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(NumDrawn(MakeDecisions(TwoTurns())), 3);
  EXPECT_EQ(OnDrawn(MakeDecisions(TwoTurns()), {1, 2, 3, 4, 5, 6}), (std::vector<float>{1, 2, 0, 0, 0, 6}));
}

TEST(RecordTurnsTest, MaskWhatIsNotLearnedOfActions) {
  CompletionEpisode episode = TwoTurns();
  EXPECT_EQ(MakeDecisions(episode).learned_T, MakeDecisions(episode).drawn_T);
  episode.turn_K[0].check = ActionCheck{.learned_begin = 1, .learned_end = 2};
  EXPECT_EQ(MakeDecisions(episode).learned_T, (std::vector<uint8_t>{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(NumLearned(MakeDecisions(episode)), 2);
  episode.turn_K[1].check = ActionCheck{.learned_begin = 0, .learned_end = 0};
  EXPECT_EQ(MakeDecisions(episode).learned_T, (std::vector<uint8_t>{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(NumDrawn(MakeDecisions(episode)), 3);
  EXPECT_EQ(MakeDecisions(episode).drawn_T, (std::vector<uint8_t>{1, 1, 0, 0, 0, 1}));
}

TEST(RecordTurnsTest, MaskWhatIsNotLearnedOfASingleTurn) {
  CompletionEpisode episode;
  episode.tokens = {7, 8, 9};
  episode.turn_K = {{0, 3, true, std::nullopt, ActionCheck{.learned_begin = 1, .learned_end = 2}}};
  EXPECT_EQ(MakeDecisions(episode).learned_T, (std::vector<uint8_t>{0, 1, 0}));
}

TEST(RecordTurnsTest, DoNotMaskCompletions) {
  CompletionEpisode completion;
  completion.tokens = {7, 8};
  EXPECT_TRUE(MakeDecisions(completion).drawn_T.empty());
  EXPECT_TRUE(MakeDecisions(completion).turn_T.empty());
  EXPECT_EQ(NumDrawn(MakeDecisions(completion)), 2);
  EXPECT_EQ(OnDrawn(MakeDecisions(completion), {1, 2}), (std::vector<float>{1, 2}));
}

TEST(RecordTurnsTest, SumTheRewardsOfAllTurns) {
  CompletionEpisode episode = TwoTurns();
  EXPECT_EQ(EnvironmentReward(episode, 0), 1.25);
  EXPECT_EQ(EnvironmentReward(episode, -0.5), 0.25);
  episode.turn_K.back().reply.reset();  // truncated: it still counts as a turn
  EXPECT_EQ(EnvironmentReward(episode, -0.5), -0.75);
}

TEST(RecordTurnsTest, PutRewardsAtTheLastTokensOfTheirTurns) {
  CompletionEpisode episode = TwoTurns();
  EXPECT_EQ(EnvironmentRewardByToken(episode, -0.5), (std::vector<double>{0, -0.25, 0, 0, 0, 0.5}));
  episode.turn_K.back().reply.reset();
  EXPECT_EQ(EnvironmentRewardByToken(episode, 0), (std::vector<double>{0, 0.25, 0, 0, 0, 0}));
  EXPECT_EQ(EnvironmentRewardByToken(episode, -0.5), (std::vector<double>{0, -0.25, 0, 0, 0, -0.5}));
}

TEST(RecordTurnsTest, PutRewardsAtLearnedTokensOfTheirTurnsWhereThereAreAny) {
  CompletionEpisode episode = TwoTurns();
  episode.turn_K[0].check = ActionCheck{.learned_begin = 0, .learned_end = 1};
  EXPECT_EQ(EnvironmentRewardByToken(episode, 0), (std::vector<double>{0.25, 0, 0, 0, 0, 1}));
  episode.turn_K[1].check = ActionCheck{};
  EXPECT_EQ(EnvironmentRewardByToken(episode, 0), (std::vector<double>{0.25, 0, 0, 0, 0, 1}));
  episode.turn_K[0].check = ActionCheck{};
  EXPECT_EQ(EnvironmentRewardByToken(episode, 0), (std::vector<double>{0, 0.25, 0, 0, 0, 1}));
}

TEST(RecordTurnsTest, KnowWhoEndedAnEpisode) {
  CompletionEpisode episode = TwoTurns();
  EXPECT_TRUE(EndedByEnvironment(episode));
  episode.turn_K.back().reply->truncated = true;
  EXPECT_FALSE(EndedByEnvironment(episode));
  episode.turn_K.back().reply.reset();
  EXPECT_FALSE(EndedByEnvironment(episode));
}

}  // namespace
}  // namespace reprise::rl
