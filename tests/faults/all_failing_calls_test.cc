// failing_calls_test over every call of the run.

#include <numeric>

#include "gtest/gtest.h"
#include "tests/faults/failing_calls.h"
#include "tests/faults/small_run.h"

namespace reprise::testing {
namespace {

class AllFailingCallsTest : public ::testing::TestWithParam<CallFault> {};

TEST_P(AllFailingCallsTest, AreHandledWhereverTheyCome) {
  std::vector<int64_t> calls(UndisturbedRun().calls.size());
  std::iota(calls.begin(), calls.end(), int64_t{0});
  EXPECT_GT(calls.size(), 500u);
  ExpectEveryFailureIsHandled(GetParam(), calls);
}

INSTANTIATE_TEST_SUITE_P(Faults, AllFailingCallsTest, ::testing::ValuesIn(CallFaults()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reprise::testing
