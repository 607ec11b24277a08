#include "rl/evaluation/scores/pass_at_k.h"

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

// Returns the number of subsets of size k of n samples, the first c of them correct, that contain a correct one, by the
// definition.
double ByCounting(int n, int c, int k) {
  int subsets = 0, passed = 0;
  for (unsigned set = 0; set < (1u << n); ++set) {
    if (__builtin_popcount(set) != k) continue;
    ++subsets;
    passed += (set & ((1u << c) - 1)) != 0 ? 1 : 0;
  }
  return static_cast<double>(passed) / subsets;
}

TEST(PassAtKTest, HandValues) {
  EXPECT_EQ(PassAtK(4, 0, 2), 0.0);
  EXPECT_EQ(PassAtK(4, 1, 1), 0.25);
  EXPECT_DOUBLE_EQ(PassAtK(4, 1, 2), 0.5);         // 1 - C(3,2) / C(4,2) = 1 - 3/6
  EXPECT_DOUBLE_EQ(PassAtK(4, 2, 2), 5.0 / 6.0);   // 1 - 1/6
  EXPECT_DOUBLE_EQ(PassAtK(10, 3, 5), 11.0 / 12);  // 1 - C(7,5) / C(10,5) = 1 - 21/252
  EXPECT_EQ(PassAtK(4, 3, 2), 1.0);                // two wrong ones cannot be drawn
}

RC_GTEST_PROP(PassAtKTest, IsTheShareOfSubsetsThatContainACorrectSample, ()) {
  const int n = *rc::gen::inRange(1, 11);
  const int c = *rc::gen::inRange(0, n + 1);
  const int k = *rc::gen::inRange(1, n + 1);
  const double difference = PassAtK(n, c, k) - ByCounting(n, c, k);
  RC_ASSERT(difference < 1e-14 && difference > -1e-14);
}

RC_GTEST_PROP(PassAtKTest, RisesWithKAndWithC, ()) {
  const int n = *rc::gen::inRange(2, 200);
  const int c = *rc::gen::inRange(0, n);
  const int k = *rc::gen::inRange(1, n);
  RC_ASSERT(PassAtK(n, c, k) <= PassAtK(n, c, k + 1) + 1e-12);
  RC_ASSERT(PassAtK(n, c, k) <= PassAtK(n, c + 1, k) + 1e-12);
}

TEST(PassAtKTest, ManySamplesDoNotOverflow) {
  EXPECT_NEAR(PassAtK(65536, 1, 32768), 0.5, 1e-12);
  EXPECT_NEAR(PassAtK(65536, 32768, 2), 1 - 0.5 * 32767.0 / 65535.0, 1e-10);
}

}  // namespace
}  // namespace reprise::rl
