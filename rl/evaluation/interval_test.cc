#include "rl/evaluation/interval.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

TEST(WilsonIntervalTest, HandValues) {
  // Computed independently in 50 decimal digits.
  EXPECT_NEAR(WilsonInterval(10, 5).low, 0.23659309051256405, 1e-15);
  EXPECT_NEAR(WilsonInterval(10, 5).high, 0.763406909487436, 1e-15);
  EXPECT_NEAR(WilsonInterval(64, 42).low, 0.53403640209918187, 1e-15);
  EXPECT_EQ(WilsonInterval(20, 0).low, 0.0);
  EXPECT_NEAR(WilsonInterval(20, 0).high, kZ95 * kZ95 / (20 + kZ95 * kZ95), 1e-15);
  EXPECT_EQ(WilsonInterval(20, 20).high, 1.0);
}

TEST(WilsonIntervalTest, NothingMeasuredSaysNothing) { EXPECT_EQ(WilsonInterval(0, 0), (Interval{0, 1})); }

RC_GTEST_PROP(WilsonIntervalTest, HoldsTheShareAndIsSymmetric, ()) {
  const int n = *rc::gen::inRange(1, 1000);
  const int c = *rc::gen::inRange(0, n + 1);
  const Interval interval = WilsonInterval(n, c), mirrored = WilsonInterval(n, n - c);
  const double share = static_cast<double>(c) / n;
  RC_ASSERT(0 <= interval.low && interval.low <= share && share <= interval.high && interval.high <= 1);
  RC_ASSERT(interval.low < interval.high);
  RC_ASSERT(std::fabs(interval.low - (1 - mirrored.high)) < 1e-12);
}

// The ends are the shares whose test would just not refuse the count: |p - q| = z sqrt(q (1 - q) / n).
RC_GTEST_PROP(WilsonIntervalTest, InvertsTheScoreTest, ()) {
  const int n = *rc::gen::inRange(2, 1000);
  const int c = *rc::gen::inRange(1, n);
  const Interval interval = WilsonInterval(n, c);
  for (const double q : {interval.low, interval.high}) {
    RC_ASSERT(std::fabs(std::fabs(static_cast<double>(c) / n - q) - kZ95 * std::sqrt(q * (1 - q) / n)) < 1e-12);
  }
}

TEST(MeanIntervalTest, HandValues) {
  // Mean 1/2, s^2 = 8 / 4 / 7.
  const Interval interval = MeanInterval(std::vector<double>{0, 1, 0, 1, 0, 1, 0, 1});
  EXPECT_NEAR(interval.low, 0.5 - kZ95 * std::sqrt(2.0 / 7 / 8), 1e-15);
  EXPECT_NEAR(interval.high, 0.5 + kZ95 * std::sqrt(2.0 / 7 / 8), 1e-15);
}

TEST(MeanIntervalTest, OneNumberSaysNothing) {
  EXPECT_EQ(MeanInterval(std::vector<double>{0.5}), (Interval{0, 1}));
  EXPECT_EQ(MeanInterval({}), (Interval{0, 1}));
}

TEST(MeanIntervalTest, StaysWithinTheRangeOfItsNumbers) {
  EXPECT_EQ(MeanInterval(std::vector<double>{0, 1}), (Interval{0, 1}));
  EXPECT_EQ(MeanInterval(std::vector<double>{1, 1, 1}), (Interval{1, 1}));
}

}  // namespace
}  // namespace reprise::rl
