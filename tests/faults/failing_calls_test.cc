// Promise: when a file call of a run fails, the run is right nevertheless or ends with an error that names the file.

#include "tests/faults/failing_calls.h"

#include "gtest/gtest.h"
#include "tests/faults/small_run.h"

namespace reprise::testing {
namespace {

class FailingCallsTest : public ::testing::TestWithParam<CallFault> {};

TEST_P(FailingCallsTest, AreHandledWhereverTheyCome) {
  const std::vector<int64_t> calls = RepresentativeCalls(UndisturbedRun().calls);
  EXPECT_GT(calls.size(), 150u);
  ExpectEveryFailureIsHandled(GetParam(), calls);
}

INSTANTIATE_TEST_SUITE_P(Faults, FailingCallsTest, ::testing::ValuesIn(CallFaults()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reprise::testing
