// Promise: when a file call of a run fails, the run's results are still correct or it ends with an error that names the
// file.

#include "tests/faults/failing_calls.h"

#include "gtest/gtest.h"
#include "tests/faults/small_run.h"

namespace reprise::testing {
namespace {

class FailingCallsTest : public ::testing::TestWithParam<CallFault> {};

// Returns every `stride`-th of the representative calls. The faults start at different calls. all_failing_calls_test
// (slow) has all of them.
std::vector<int64_t> PartOfCalls(Begin begin, const CallFault& fault, size_t stride) {
  const std::vector<int64_t> calls = RepresentativeCalls(RecordFileCalls(begin));
  EXPECT_GT(calls.size(), 100u);
  std::vector<int64_t> part;
  const std::vector<CallFault> faults = CallFaults();
  size_t first = 0;
  while (faults[first].name != fault.name) ++first;
  for (size_t i = first; i < calls.size(); i += stride) part.push_back(calls[i]);
  return part;
}

TEST_P(FailingCallsTest, OfARunAreHandled) {
  ExpectEveryFailureIsHandled(Begin::kAfresh, GetParam(), PartOfCalls(Begin::kAfresh, GetParam(), 6));
}

TEST_P(FailingCallsTest, OfAResumedRunAreHandled) {
  ExpectEveryFailureIsHandled(Begin::kTakenUp, GetParam(), PartOfCalls(Begin::kTakenUp, GetParam(), 14));
}

INSTANTIATE_TEST_SUITE_P(Faults, FailingCallsTest, ::testing::ValuesIn(CallFaults()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reprise::testing
