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

}  // namespace
}  // namespace reprise::gate
