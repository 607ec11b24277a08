#include "benchmarks/gate/measured_value.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::gate {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

TEST(MeasuredValueTest, SecondsAreTheTimeThatTheProgramTook) {
  EXPECT_EQ(*MeasuredValue({.out = "anything", .seconds = 1.5}, "seconds"), 1.5);
}

TEST(MeasuredValueTest, GoogleBenchmarksCountersAreRead) {
  const Execution one = {.out =
                             R"({"context": {}, "benchmarks": [{"name": "BM_A", "real_time": 7, "GFLOP/s": 2.5e1}]})"};
  EXPECT_EQ(*MeasuredValue(one, "GFLOP/s"), 25);
  EXPECT_EQ(*MeasuredValue(one, "real_time"), 7);
}

TEST(MeasuredValueTest, TheLastLineMayBeTheObject) {
  EXPECT_EQ(*MeasuredValue({.out = "a word\n{\"s_step\": 0.25}\n"}, "s_step"), 0.25);
  EXPECT_EQ(*MeasuredValue({.out = "{\"s_step\": 0.25}\n"}, "s_step"), 0.25);
}

TEST(MeasuredValueTest, ValuesThatAreNotPositiveNumbersAreRejected) {
  const auto refused = [](const char* out, const char* why) {
    EXPECT_THAT(MeasuredValue({.out = out}, "x"), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(why)));
  };
  refused("", "not JSON");
  refused("{\"y\": 1}", "has no \"x\"");
  refused("{\"x\": 0}", "not a positive number");
  refused("{\"x\": \"1\"}", "not a positive number");
  refused("{\"benchmarks\": []}", "it ran 0 benchmarks");
  refused("{\"benchmarks\": [{\"x\": 1}, {\"x\": 2}]}", "it ran 2 benchmarks");
}

}  // namespace
}  // namespace reprise::gate
