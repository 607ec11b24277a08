#include "rl/schedule/minibatches.h"

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

TEST(EarlyStopTest, StopsBeyondOneAndAHalfTimesTheTarget) {
  EXPECT_FALSE(StopsEarly(0.15, 0.1));
  EXPECT_TRUE(StopsEarly(0.16, 0.1));
  EXPECT_FALSE(StopsEarly(1e9, 0.0));
}

}  // namespace
}  // namespace reprise::rl
