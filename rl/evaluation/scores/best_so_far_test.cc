#include "rl/evaluation/scores/best_so_far.h"

#include <limits>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

BestSoFar After(const BestOptions& options, const std::vector<double>& values) {
  BestSoFar best;
  int64_t step = 0;
  for (const double value : values) best = NextBest(best, options, ++step, value);
  return best;
}

TEST(BestSoFarTest, IsTheFirstAmongEquals) { EXPECT_EQ(After({}, {0.1, 0.5, 0.5, 0.2}).step, 2); }

TEST(BestSoFarTest, CanBeTheLeast) {
  EXPECT_EQ(After({.greater_is_better = false}, {3, 1, 2}), (BestSoFar{2, 1, 1, 1}));
}

TEST(BestSoFarTest, PatienceCountsEvaluationsWithoutImprovement) {
  const BestOptions options = {.patience = 2};
  EXPECT_FALSE(HasWaitedEnough(After(options, {0.5, 0.4}), options));
  EXPECT_TRUE(HasWaitedEnough(After(options, {0.5, 0.4, 0.5}), options));
  EXPECT_FALSE(HasWaitedEnough(After(options, {0.5, 0.4, 0.6}), options));
}

TEST(BestSoFarTest, WithoutPatienceEarlyStoppingIsNeverTriggered) {
  EXPECT_FALSE(HasWaitedEnough(After({}, {0.5, 0.4, 0.3, 0.2, 0.1}), {}));
}

TEST(BestSoFarTest, ABetterOneThatDoesNotCountIsStillTheBest) {
  const BestSoFar best = After({.patience = 3, .threshold = 0.25}, {0.5, 0.625});
  EXPECT_EQ(best, (BestSoFar{2, 0.625, 0.5, 1}));
}

TEST(BestSoFarTest, SmallGainsCountTogether) {
  const BestSoFar best = After({.patience = 3, .threshold = 0.25}, {0.5, 0.625, 0.75, 0.875});
  EXPECT_EQ(best, (BestSoFar{4, 0.875, 0.875, 0}));
}

RC_GTEST_PROP(BestSoFarTest, IsTheGreatestOfAll, ()) {
  const auto numbers = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-5, 6)));
  std::vector<double> values(numbers.begin(), numbers.end());
  const BestSoFar best = After({.threshold = 1.5}, values);
  const auto greatest = std::max_element(values.begin(), values.end());
  RC_ASSERT(best.value == *greatest);
  RC_ASSERT(best.step == greatest - values.begin() + 1);
}

TEST(BestSoFarTest, NumbersOfAFileThatAreNoCountsAreNone) {
  EXPECT_EQ(StoredCount(3), 3);
  for (const double number : {-1.0, 1e300, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(StoredCount(number), 0) << number;
    EXPECT_EQ(BestFromNumbers({number, 0.5, 0.5, number}).step, 0);
  }
}

TEST(BestSoFarTest, IsRestoredFromItsNumbers) {
  const BestSoFar best = {123456789012, 0.1, -std::numeric_limits<double>::denorm_min(), 7};
  EXPECT_EQ(BestFromNumbers(BestToNumbers(best)), best);
}

}  // namespace
}  // namespace reprise::rl
