#include "kernels/sums/moments.h"

#include <vector>

#include "gtest/gtest.h"

namespace reprise::kernels {
namespace {

// 1, 2, 3, 6: mean 3, squares 4 + 1 + 0 + 9 = 14.
TEST(MomentsTest, AreThoseOfNumbersByHand) {
  const Moments moments = MomentsOf({1, 2, 3, 6});
  EXPECT_EQ(moments, (Moments{4, 3, 14}));
  EXPECT_EQ(moments.Variance(0), 3.5);
  EXPECT_EQ(moments.Variance(1), 14.0 / 3);
  EXPECT_EQ(MomentsOf({5}).Variance(1), 0.0);
  EXPECT_EQ(MomentsOf({}), Moments());
}

// {1, 2} has mean 1.5 and squares 0.5; {3, 6} has 4.5 and 4.5: 0.5 + 4.5 + 9 * 1 = 14.
TEST(MomentsTest, OfPartsMergeToThoseOfTheWhole) {
  EXPECT_EQ(Merge(MomentsOf({1, 2}), MomentsOf({3, 6})), (Moments{4, 3, 14}));
  const Moments unequal = Merge(MomentsOf({1}), MomentsOf({2, 3, 6}));
  EXPECT_NEAR(unequal.mean, 3, 1e-15);
  EXPECT_NEAR(unequal.squares, 14, 1e-14);
  EXPECT_EQ(Merge(Moments(), MomentsOf({3, 6})), MomentsOf({3, 6}));
  EXPECT_EQ(Merge(MomentsOf({3, 6}), Moments()), MomentsOf({3, 6}));
}

// The difference of the mean square and the squared mean would be off by more than the variance here.
TEST(MomentsTest, KeepTheVarianceOfNumbersFarFromZero) {
  const Moments moments = Merge(MomentsOf({1e9 + 1, 1e9 + 2}), MomentsOf({1e9 + 3, 1e9 + 6}));
  EXPECT_NEAR(moments.Variance(0), 3.5, 1e-6);
}

}  // namespace
}  // namespace reprise::kernels
