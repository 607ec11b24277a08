// The same as failing_calls_test, but with every file call of the run.

#include <numeric>

#include "gtest/gtest.h"
#include "tests/faults/failing_calls.h"
#include "tests/faults/small_run.h"

namespace reprise::testing {
namespace {

class AllFailingCallsTest : public ::testing::TestWithParam<CallFault> {};

std::vector<int64_t> AllCalls(Begin begin) {
  std::vector<int64_t> calls(RecordFileCalls(begin).size());
  std::iota(calls.begin(), calls.end(), int64_t{0});
  EXPECT_GT(calls.size(), 500u);
  return calls;
}

TEST_P(AllFailingCallsTest, OfARunAreHandled) {
  ExpectEveryFailureIsHandled(Begin::kAfresh, GetParam(), AllCalls(Begin::kAfresh));
}

TEST_P(AllFailingCallsTest, OfAResumedRunAreHandled) {
  ExpectEveryFailureIsHandled(Begin::kTakenUp, GetParam(), AllCalls(Begin::kTakenUp));
}

INSTANTIATE_TEST_SUITE_P(Faults, AllFailingCallsTest, ::testing::ValuesIn(CallFaults()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reprise::testing
