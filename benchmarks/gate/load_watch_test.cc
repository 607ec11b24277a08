#include "benchmarks/gate/load_watch.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::gate {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kStat[] =
    "cpu  1000 20 300 5000 400 5 60 7 99 0\n"
    "cpu0 500 10 150 2500 200 3 30 3 50 0\n"
    "cpu1 500 10 150 2500 200 2 30 4 49 0\n"
    "intr 23601011 0 0\nctxt 7\nbtime 1\n";

TEST(ParseStatTest, BusyExcludesIdleAndWaitingAndCountsGuestsOnce) {
  ASSERT_OK_AND_ASSIGN(const CpuTimes times, ParseStat(kStat));
  EXPECT_EQ(times.busy, 1000 + 20 + 300 + 5 + 60 + 7);
  EXPECT_EQ(times.total, 1000 + 20 + 300 + 5000 + 400 + 5 + 60 + 7);
  EXPECT_EQ(times.processors, 2);
}

TEST(ParseStatTest, RejectsOtherFormats) {
  for (const char* text :
       {"", "cpu\n", "cpu 1 2 3\ncpu0 1 2 3\n", "cpu  1 2 x 4\ncpu0 1 2 3 4\n", "cpu  1 2 3 4 5 6\n"}) {
    EXPECT_THAT(ParseStat(text), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/proc/stat"))) << text;
  }
}

TEST(ParseRunnableTest, TheFourthFieldCounts) {
  ASSERT_OK_AND_ASSIGN(const int runnable, ParseRunnable("3.69 4.09 4.41 5/313 18700\n"));
  EXPECT_EQ(runnable, 5);
  EXPECT_THAT(ParseRunnable("3.69 4.09"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/proc/loadavg")));
  EXPECT_THAT(ParseRunnable("1 1 1 x/2 3"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/proc/loadavg")));
}

// Two processors for one second of 100 ticks.
TEST(OtherCoresTest, ExcludesOurOwnTime) {
  const CpuTimes before = {.busy = 1000, .total = 5000, .processors = 2};
  const CpuTimes after = {.busy = 1150, .total = 5200, .processors = 2};
  EXPECT_DOUBLE_EQ(*OtherCores(before, after, 0, 100), 1.5);
  EXPECT_DOUBLE_EQ(*OtherCores(before, after, 1.0, 100), 0.5);
  EXPECT_DOUBLE_EQ(*OtherCores(before, after, 1.6, 100), 0.0);  // ticks are coarse
}

TEST(OtherCoresTest, IsUnknownIfTheCountersDoNotMove) {
  const CpuTimes times = {.busy = 1, .total = 2, .processors = 2};
  EXPECT_FALSE(OtherCores(times, times, 0, 100).has_value());
}

TEST(OtherCoresTest, AQuarterOfAProcessorOrATenthOfAllIsAllowed) {
  EXPECT_DOUBLE_EQ(MostOtherCores(1), 0.25);
  EXPECT_DOUBLE_EQ(MostOtherCores(2), 0.25);
  EXPECT_DOUBLE_EQ(MostOtherCores(64), 6.4);
}

}  // namespace
}  // namespace reprise::gate
