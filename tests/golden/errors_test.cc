#include "tests/golden/errors.h"

#include <limits>

#include "gtest/gtest.h"

namespace reprise::golden {
namespace {

TEST(ErrorsTest, KeepTheLargestErrorAndTheLargestFractionOfATolerance) {
  Errors errors;
  errors.Compare("a", 1.5, 1.0, 1.0, "x");
  errors.Compare("a", 1.25, 1.0, 0.3, "y");
  EXPECT_TRUE(errors.Within());
  EXPECT_EQ(errors.kinds().at("a").largest, 0.5);
  EXPECT_EQ(errors.kinds().at("a").where, "y");
  errors.Compare("b", 2.0, 1.0, 0.5, "z");
  EXPECT_FALSE(errors.Within());
  EXPECT_TRUE(errors.Within("a"));
}

TEST(ErrorsTest, WithoutComparisonsAreNotWithin) {
  EXPECT_FALSE(Errors().Within());
  EXPECT_FALSE(Errors().Within("a"));
}

TEST(ErrorsTest, AreInfiniteForANaN) {
  Errors errors;
  errors.Compare("a", std::numeric_limits<double>::quiet_NaN(), 1.0, 1.0, "x");
  EXPECT_FALSE(errors.Within());
}

TEST(ErrorsTest, OfExactComparisonsAreOnlyWithinIfEqual) {
  Errors errors;
  errors.CompareExactly("a", 3, 3, "x");
  EXPECT_TRUE(errors.Within());
  errors.CompareExactly("a", 3, 4, "x");
  EXPECT_FALSE(errors.Within());
}

}  // namespace
}  // namespace reprise::golden
