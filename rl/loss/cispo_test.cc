#include "rl/loss/cispo.h"

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

constexpr LossOptions kOptions = {.epsilon_high = 1.5};

TEST(CispoTest, WeighsTheLogProbByTheRatioWithoutAGradientThroughIt) {
  const Ratio ratio = RatioOf(0.2);
  const Term term = CispoTerm(ratio, -3.0, 2.0, kOptions);
  EXPECT_EQ(term.value, -ratio.value * 2.0 * -3.0);
  EXPECT_EQ(term.d_logprob, -ratio.value * 2.0);
  EXPECT_EQ(term.d_log_ratio, 0.0);
}

TEST(CispoTest, CapsTheWeightButKeepsTheGradient) {
  const Term term = CispoTerm(RatioOf(5.0), -3.0, 2.0, kOptions);
  EXPECT_EQ(term.d_logprob, -3.0);
  EXPECT_TRUE(IsCispoCapped(RatioOf(5.0), 2.0, kOptions));
  EXPECT_FALSE(IsCispoCapped(RatioOf(5.0), -2.0, kOptions));
  EXPECT_FALSE(IsCispoCapped(RatioOf(0.2), 2.0, kOptions));
}

}  // namespace
}  // namespace reprise::rl
