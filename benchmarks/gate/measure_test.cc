#include "benchmarks/gate/measure.h"

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::gate {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Records its calls; its value is the number of the call.
struct Recorder {
  absl::StatusOr<Execution> operator()(const std::string& command, Checkout checkout) {
    calls += command + (checkout == Checkout::kBaseline ? "' " : " ");
    ++count;
    return Execution{.out = absl::StrCat("{\"x\": ", count, ", \"y\": ", 10 * count, "}"), .seconds = 1};
  }
  std::string calls;
  int count = 0;
};

Gate SomeGate(const std::string& denominator) {
  return {.name = "some",
          .numerator = "A",
          .numerator_value = "x",
          .denominator = denominator,
          .denominator_value = denominator == kSameRun ? "y" : "",
          .at_most = 1,
          .repetitions = 3};
}

TEST(MeasureTest, SidesAlternateAndEverySecondPairIsSwapped) {
  Recorder recorder;
  ASSERT_OK_AND_ASSIGN(const Samples samples, Measure(SomeGate("B"), std::ref(recorder)));
  EXPECT_EQ(recorder.calls, "A B A B B A A B ");
  EXPECT_THAT(samples.numerator, ElementsAre(3, 6, 7));
  EXPECT_THAT(samples.denominator, ElementsAre(4, 5, 8));
}

TEST(MeasureTest, TheBaselineRunsTheSameCommandInItsOwnCheckout) {
  Recorder recorder;
  ASSERT_OK(Measure(SomeGate(kBaseline), std::ref(recorder)).status());
  EXPECT_EQ(recorder.calls, "A A' A A' A' A A A' ");
}

TEST(MeasureTest, OneRunMayGiveBothNumbers) {
  Recorder recorder;
  ASSERT_OK_AND_ASSIGN(const Samples samples, Measure(SomeGate(kSameRun), std::ref(recorder)));
  EXPECT_EQ(recorder.calls, "A A A A ");
  EXPECT_THAT(samples.numerator, ElementsAre(2, 3, 4));
  EXPECT_THAT(samples.denominator, ElementsAre(20, 30, 40));
}

TEST(MeasureTest, AnErrorNamesTheGate) {
  const Runner fails = [](const std::string&, Checkout) { return absl::InternalError("ended with exit code 3"); };
  EXPECT_THAT(Measure(SomeGate("B"), fails),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("some: ended with exit code 3")));
}

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
