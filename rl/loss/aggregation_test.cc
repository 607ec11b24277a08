#include "rl/loss/aggregation.h"

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

constexpr LossNormalizer kNormalizer = {
    .num_sequences = 4, .num_tokens = 40, .mean_num_tokens = 50, .num_nonempty_sequences = 3};

double Weight(LossType type, int64_t tokens) {
  return TokenWeight({.loss_type = type, .max_completion_length = 16}, kNormalizer, tokens);
}

TEST(TokenWeightTest, DividesAsItsLossTypeDefines) {
  EXPECT_EQ(Weight(LossType::kGrpo, 5), 1.0 / 20);
  EXPECT_EQ(Weight(LossType::kSapo, 5), 1.0 / 20);
  EXPECT_EQ(Weight(LossType::kRloo, 5), 1.0 / 20);
  EXPECT_EQ(Weight(LossType::kBnpo, 5), 1.0 / 40);
  EXPECT_EQ(Weight(LossType::kDapo, 5), 1.0 / 50);
  EXPECT_EQ(Weight(LossType::kCispo, 5), 1.0 / 50);
  EXPECT_EQ(Weight(LossType::kVespo, 5), 1.0 / 50);
  EXPECT_EQ(Weight(LossType::kDrGrpo, 5), 1.0 / 64);
  EXPECT_EQ(Weight(LossType::kLuspo, 5), 1.0 / 4);
}

TEST(TokenWeightTest, DividesAsTheAggregationDefinesWithEveryLossType) {
  const auto weight = [](Aggregation aggregation) {
    return TokenWeight({.loss_type = LossType::kCispo, .aggregation = aggregation, .max_completion_length = 16},
                       kNormalizer, 5);
  };
  EXPECT_EQ(weight(Aggregation::kGrpo), 1.0 / 20);
  EXPECT_EQ(weight(Aggregation::kTurnMean), 1.0 / 20);
  EXPECT_EQ(weight(Aggregation::kBnpo), 1.0 / 40);
  EXPECT_EQ(weight(Aggregation::kDapo), 1.0 / 50);
  EXPECT_EQ(weight(Aggregation::kDrGrpo), 1.0 / 64);
  EXPECT_EQ(weight(Aggregation::kLuspo), 1.0 / 4);
  EXPECT_EQ(weight(Aggregation::kSequenceMean), 1.0 / 15);
  EXPECT_EQ(weight(Aggregation::kSum), 1.0);
}

TEST(TurnFactorsTest, GiveEveryTurnTheSameWeight) {
  // Turns of 1, 3 and (masked) 2 tokens: 4 tokens in 2 turns.
  const std::vector<int32_t> turn_T = {0, 1, 1, 1, 2, 2};
  const std::vector<uint8_t> mask_T = {1, 1, 1, 1, 0, 0};
  const std::vector<double> factor_T = TurnFactors(turn_T, mask_T);
  EXPECT_EQ(factor_T, (std::vector<double>{2, 4. / 6, 4. / 6, 4. / 6, 0, 0}));
  EXPECT_EQ(TurnFactors({7, 7}, {}), (std::vector<double>{1, 1}));
  EXPECT_TRUE(TurnFactors({}, {}).empty());
}

TEST(NormalizerTest, CountsSequencesWithAWeightAndThoseOfThemWithTokens) {
  // A sequence of 5 tokens, one that a filter masked, one that was dropped.
  const LossNormalizer normalizer = MakeNormalizer({{5, 1.0}, {0, 1.0}, {9, 0.0}}, 24, 2);
  EXPECT_EQ(normalizer.num_sequences, 2.0);
  EXPECT_EQ(normalizer.num_nonempty_sequences, 1.0);
  EXPECT_EQ(normalizer.num_tokens, 5.0);
  EXPECT_EQ(normalizer.mean_num_tokens, 12.0);
  EXPECT_EQ(MakeNormalizer({{9, 0.0}}, 0, 1).num_sequences, 1.0);  // everything dropped: nothing to divide
}

TEST(TokenWeightTest, NeverDividesByZero) {
  EXPECT_EQ(Weight(LossType::kGrpo, 0), 1.0 / 4);
  EXPECT_EQ(TokenWeight({.loss_type = LossType::kDapo}, {.num_sequences = 1, .num_tokens = 0, .mean_num_tokens = 0}, 0),
            1.0);
}

}  // namespace
}  // namespace reprise::rl
