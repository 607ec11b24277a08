#include "rl/episode/episode.h"

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

Episode TwoTurns() {
  Episode episode;
  episode.turns = {{.observation_tokens = {}, .action_tokens = {5, 6}, .action_logprobs = {-0.1, -0.2}},
                   {.observation_tokens = {7, 8, 9}, .action_tokens = {1}, .action_logprobs = {-0.3}}};
  return episode;
}

TEST(EpisodeTest, CountsWhatThePolicyDrewApartFromWhatItWasTold) {
  EXPECT_EQ(NumActionTokens(TwoTurns()), 3);
  EXPECT_EQ(NumObservationTokens(TwoTurns()), 3);
  EXPECT_EQ(NumActionTokens({}), 0);
}

TEST(EpisodeTest, LaysTurnsOutOneAfterAnother) {
  EXPECT_EQ(Tokens(TwoTurns()), (std::vector<int32_t>{5, 6, 7, 8, 9, 1}));
  EXPECT_EQ(ActionMask(TwoTurns()), (std::vector<uint8_t>{1, 1, 0, 0, 0, 1}));
  EXPECT_EQ(OldLogprobs(TwoTurns()), (std::vector<double>{-0.1, -0.2, 0, 0, 0, -0.3}));
  EXPECT_EQ(ActionLogprobs(TwoTurns()), (std::vector<double>{-0.1, -0.2, -0.3}));
}

}  // namespace
}  // namespace reprise::rl
