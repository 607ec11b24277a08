// A program that fails ends the run with an error that names the episode: never with a reward of 0, never with a run
// that waits, on no number of ranks.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/environments/outside.h"

namespace reprise::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Fault {
  std::string name;
  int exit_code;
  std::string sentence;
};

class OutsideFaultsTest : public ::testing::TestWithParam<Fault> {};

TEST_P(OutsideFaultsTest, EndsTheRunAndNamesTheEpisode) {
  for (const int ranks : {1, 2}) {
    const ProcessResult result = RunProgramOnRanks(
        Failing(GetParam().name, ranks), {"pipelines/train", kOutsideRun, "--output", UniqueTemporaryPath(), "--quiet",
                                          "--set", "execution.process_time_limit=2"});
    EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("error: step 3: "),
                                  HasSubstr("the process \"exec python3 tests/environments/outside.py\" "),
                                  HasSubstr(GetParam().sentence), HasSubstr("prompt 2 sample 1 turn 0")));
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, OutsideFaultsTest,
                         ::testing::Values(Fault{"crash", 70, "exited with code 3"},
                                           Fault{"slow", 70, "gave no reply within 2 seconds"},
                                           Fault{"garbage", 65, "replied \"Traceback (most recent call last):\""},
                                           Fault{"nothing", 65, "replied \"\""},
                                           Fault{"no_reward", 65, "reward is missing"},
                                           Fault{"half_line", 70, "exited with code 0 after half a line"},
                                           Fault{"two_lines", 65, "wrote something that it was not asked for"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reprise::testing
