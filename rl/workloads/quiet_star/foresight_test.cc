#include "rl/workloads/quiet_star/foresight.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::testing::ElementsAre;

// A text of five tokens with two thoughts after token 1, which predict tokens 2 and 3, and two after token 3, which
// predict token 4. Binary fractions, so that sums are exact.
const ThoughtPlaces kPlaces = {.position_M = {1, 3}, .generations = 2, .tokens_ahead = 2};

TextToThinkAbout Text(std::vector<uint8_t> counts_S = {}) { return {{10, 11, 12, 13, 14}, std::move(counts_S)}; }

models::ThoughtScores Scores() {
  models::ThoughtScores scores;
  scores.base_logprob_S = {-0.5f, -1.0f, -2.0f, -4.0f};  // of tokens 1, 2, 3, 4
  scores.base_correct_S = {1, 0, 1, 0};
  scores.mixed_logprob_A = {-0.25f, -0.5f, /*sample 1*/ -1.0f, -3.0f, /*token 4*/ -0.125f, -8.0f};
  scores.mixed_correct_A = {1, 1, 0, 0, 1, 0};
  return scores;
}

// A choice of positions by the loss of the next token tells that token where it was predicted wrongly.
TEST(DifficultPositionsTest, OfHeldOutTextsDoNotDependOnTheirTokens) {
  QuietStarConfig quiet_star;
  quiet_star.injection_threshold = 0.6;
  quiet_star.injection_interval = 1;
  models::ThoughtScores scores;
  scores.base_entropy_S = {1.9f, 1.9f, 0.1f, 1.9f};      // of at most ln 8 = 2.08
  scores.base_logprob_S = {-9.0f, -0.1f, -9.0f, -9.0f};  // of tokens 1 to 4
  const auto positions = [&](bool held_out) { return DifficultPositions(quiet_star, 8, scores, held_out); };
  EXPECT_THAT(positions(true), ElementsAre(0, 1, 3));
  EXPECT_THAT(positions(false), ElementsAre(0, 3));
  scores.base_logprob_S = {-0.1f, -9.0f, -0.1f, -0.1f};  // the same distributions, other tokens
  EXPECT_THAT(positions(true), ElementsAre(0, 1, 3));
  EXPECT_THAT(positions(false), ElementsAre(1));
  scores.dispersion_S = {1.0f, 0.0f, 1.0f, 1.0f};
  EXPECT_THAT(positions(true), ElementsAre(0, 3));
}

TEST(ForesightTest, SumsTheTokensBehindEachThought) {
  const std::vector<PositionForesight> foresight_M = ComputeForesights(Text(), kPlaces, Scores());
  ASSERT_EQ(foresight_M.size(), 2u);
  EXPECT_EQ(foresight_M[0].base.logprob, -3.0);  // tokens 2 and 3, not 1 and 2: predictions are shifted by one
  EXPECT_EQ(foresight_M[0].base.hits, 1);
  EXPECT_EQ(foresight_M[0].thought_G[0].logprob, -0.75);
  EXPECT_EQ(foresight_M[0].thought_G[0].hits, 2);
  EXPECT_EQ(foresight_M[0].thought_G[1].logprob, -4.0);
  EXPECT_EQ(foresight_M[1].base.logprob, -4.0);
  EXPECT_EQ(foresight_M[1].thought_G[0].logprob, -0.125);
  EXPECT_EQ(foresight_M[1].thought_G[1].logprob, -8.0);
}

TEST(ForesightTest, LeavesOutTokensThatDoNotCount) {
  const std::vector<PositionForesight> foresight_M = ComputeForesights(Text({0, 1, 0, 1, 0}), kPlaces, Scores());
  EXPECT_EQ(foresight_M[0].base.logprob, -2.0);
  EXPECT_EQ(foresight_M[0].thought_G[1].logprob, -3.0);
  EXPECT_EQ(foresight_M[1].thought_G[0].logprob, 0.0);
  EXPECT_EQ(foresight_M[1].base.hits, 0);
}

TEST(ForesightTest, EveryThoughtHasItsOwnReward) {
  QuietStarConfig quiet_star;
  quiet_star.clamp_rewards = false;
  EXPECT_THAT(ComputeThoughtRewards(quiet_star, Text(), kPlaces, Scores()),
              ElementsAre(ElementsAre(1.625, 3.9375), ElementsAre(-1.625, -3.9375)));
  quiet_star.reward = ThoughtReward::kBinary;
  EXPECT_THAT(ComputeThoughtRewards(quiet_star, Text(), kPlaces, Scores()),
              ElementsAre(ElementsAre(1, 1), ElementsAre(0, 0)));
}

TEST(PredictionTest, ATokenIsPredictedByItsLatestThought) {
  const Prediction first = PredictionWith(Text(), 1, kPlaces, 0, Scores());
  EXPECT_EQ(first.tokens, 4);
  EXPECT_EQ(first.correct, 4);  // token 1, which no thought precedes, as without thoughts
  EXPECT_EQ(first.logprob, -0.5 - 0.25 - 0.5 - 0.125);
  const Prediction second = PredictionWith(Text(), 2, kPlaces, 1, Scores());
  EXPECT_EQ(second.tokens, 3);
  EXPECT_EQ(second.correct, 0);
  EXPECT_EQ(second.logprob, -1.0 - 3.0 - 8.0);
  EXPECT_FALSE(second.is_all_correct());
}

TEST(PredictionTest, BeyondTheTokensAheadThereIsNoThought) {
  ThoughtPlaces places = {.position_M = {1}, .generations = 1, .tokens_ahead = 1};
  models::ThoughtScores scores = Scores();
  scores.mixed_logprob_A = {-0.25f};
  scores.mixed_correct_A = {1};
  const Prediction prediction = PredictionWith(Text(), 2, places, 0, scores);
  EXPECT_EQ(prediction.logprob, -0.25 - 2.0 - 4.0);
  EXPECT_EQ(prediction.correct, 2);
}

// The original compares predictions with the tokens at their own places, and counts padding.
TEST(PredictionTest, WithoutThoughtsPredictionsAreOfTheTokensBehindThem) {
  const Prediction prediction = PredictionWithout(Text(), 3, Scores());
  EXPECT_EQ(prediction.tokens, 2);
  EXPECT_EQ(prediction.correct, 1);
  EXPECT_EQ(prediction.logprob, -6.0);
  EXPECT_EQ(prediction.accuracy(), 0.5);
}

}  // namespace
}  // namespace reprise::rl
