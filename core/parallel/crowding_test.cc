#include "core/parallel/crowding.h"

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(CrowdingTest, IsOfTheThreadsOfAllRanksThatShareTheProcessors) {
  ShareProcessors(/*processors=*/4, /*ranks=*/1);
  EXPECT_FALSE(IsCrowded());
  CountThreads(3);
  CountThreads(1);
  EXPECT_FALSE(IsCrowded());
  CountThreads(2);
  EXPECT_TRUE(IsCrowded());
  CountThreads(-2);
  EXPECT_FALSE(IsCrowded());
  ShareProcessors(/*processors=*/4, /*ranks=*/2);
  EXPECT_TRUE(IsCrowded());
  ShareProcessors(/*processors=*/8, /*ranks=*/2);
  EXPECT_FALSE(IsCrowded());
}

}  // namespace
}  // namespace reprise
