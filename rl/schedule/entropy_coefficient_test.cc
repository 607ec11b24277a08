#include "rl/schedule/entropy_coefficient.h"

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

TEST(EntropyCoefficientTest, DecaysDownToItsFloor) {
  const EntropyOptions options = {.entropy_coef = 0.5, .decay = 0.5, .floor = 0.1};
  EXPECT_EQ(EntropyCoefficient(options, 0), 0.5);
  EXPECT_EQ(EntropyCoefficient(options, 2), 0.125);
  EXPECT_EQ(EntropyCoefficient(options, 3), 0.1);
  EXPECT_EQ(EntropyCoefficient(options, 100), 0.1);
}

TEST(EntropyCoefficientTest, ReachesAThousandthOfATenthWhenPublished) {
  // 0.01 * 0.9995^k falls below 0.001 at k = 4605 (log 0.1 / log 0.9995 = 4604.02).
  const EntropyOptions options = {.entropy_coef = 0.01, .decay = 0.9995, .floor = 0.001};
  EXPECT_GT(EntropyCoefficient(options, 4604), 0.001);
  EXPECT_EQ(EntropyCoefficient(options, 4605), 0.001);
}

TEST(EntropyCoefficientTest, IsConstantByDefaultAndNeverRises) {
  EXPECT_EQ(EntropyCoefficient({.entropy_coef = 0.25}, 1000), 0.25);
  EXPECT_EQ(EntropyCoefficient({.entropy_coef = 0.0, .decay = 0.9, .floor = 0.1}, 3), 0.0);
}

RC_GTEST_PROP(EntropyCoefficientTest, OfALaterUpdateIsNoGreater, ()) {
  const EntropyOptions options = {*rc::gen::inRange(0, 100) * 1e-2, *rc::gen::inRange(0, 101) * 1e-2,
                                  *rc::gen::inRange(0, 100) * 1e-2};
  for (int64_t k = 0; k < 50; ++k) {
    RC_ASSERT(EntropyCoefficient(options, k + 1) <= EntropyCoefficient(options, k));
  }
}

}  // namespace
}  // namespace reprise::rl
