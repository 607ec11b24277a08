#include "rl/loss/aggregation.h"

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

constexpr LossNormalizer kNormalizer = {.num_sequences = 4, .num_tokens = 40, .mean_num_tokens = 50};

double Weight(LossType type, int64_t tokens) {
  return TokenWeight({.loss_type = type, .max_completion_length = 16}, kNormalizer, tokens);
}

TEST(TokenWeightTest, DividesByWhatItsLossTypeSays) {
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

TEST(TokenWeightTest, NeverDividesByZero) {
  EXPECT_EQ(Weight(LossType::kGrpo, 0), 1.0 / 4);
  EXPECT_EQ(TokenWeight({.loss_type = LossType::kDapo}, {.num_sequences = 1, .num_tokens = 0, .mean_num_tokens = 0}, 0),
            1.0);
}

}  // namespace
}  // namespace reprise::rl
