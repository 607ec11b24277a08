#include "core/status/check.h"

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(CheckDeathTest, NamesRankPlaceExpressionAndValues) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const int rows = 3;
  EXPECT_DEATH(
      {
        SetRankForChecks(2);
        CHECK_EQ(rows, 4);
      },
      "rank 2: .*check_test.cc:[0-9]+: CHECK failed: rows == 4 \\(3 vs. 4\\)");
}

TEST(CheckTest, PassesSilently) {
  CHECK(true);
  CHECK_LT(1, 2);
}

}  // namespace
}  // namespace reprise
