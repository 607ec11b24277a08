// A process that fails ends the run with an error that names the episode, on any number of ranks: the run neither uses
// a reward of 0 nor hangs.

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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
                         ::testing::Values(Fault{"crash", 65, "exited with code 3"},
                                           Fault{"slow", 65, "gave no reply within 2 seconds"},
                                           Fault{"garbage", 65, "replied \"Traceback (most recent call last):\""},
                                           Fault{"nothing", 65, "replied \"\""},
                                           Fault{"no_reward", 65, "reward is missing"},
                                           Fault{"half_line", 65, "exited with code 0 after an incomplete line"},
                                           Fault{"two_lines", 65,
                                                 "wrote output without a request: \"{}\" and then \"{}\\n\"; its "
                                                 "standard output is for replies alone"}),
                         [](const auto& info) { return info.param.name; });

// Three steps of SFT and two of training, before segments of 16 steps are full and without a state.
TEST(OutsideFaultsTest, TheStepsBeforeTheErrorAreStoredReproducedAndResumedFrom) {
  const std::string whole = UniqueTemporaryPath();
  ASSERT_EQ(RunProgramOnRanks({}, {"pipelines/train", kOutsideRun, "--output", whole, "--quiet"}).exit_code, 0);
  for (const int ranks : {1, 2}) {
    const std::string run = UniqueTemporaryPath();
    const std::vector<std::string> train = {"pipelines/train", kOutsideRun, "--output", run, "--quiet"};
    EXPECT_EQ(RunProgramOnRanks(Failing("garbage", ranks), train).exit_code, 65);
    const Verdict verdict = Reproduce(run, "replay", {});
    EXPECT_TRUE(verdict.pass) << verdict.process.err;
    EXPECT_EQ(verdict.steps_checked, 5);
    std::vector<std::string> resume = train;
    resume.push_back("--resume");
    const ProcessResult resumed = RunProgramOnRanks({.ranks = ranks}, resume);
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_TRUE(Contents(run + "/run.h5") == Contents(whole + "/run.h5"));
  }
}

TEST(OutsideFaultsTest, ARunThatFailsInItsFirstStepHasNothingToReproduceAndIsResumed) {
  const std::string run = UniqueTemporaryPath();
  const std::vector<std::string> train = {"pipelines/train", kOutsideRun, "--output",   run,
                                          "--quiet",         "--set",     "sft.steps=0"};
  Execution failing = Failing("garbage");
  failing.variables["REPRISE_TEST_FAULT_STEP"] = "1";
  const ProcessResult failed = RunProgramOnRanks(failing, train);
  EXPECT_EQ(failed.exit_code, 65);
  EXPECT_THAT(failed.err, HasSubstr("error: step 1: "));
  const Verdict verdict = Reproduce(run, "replay", {});
  EXPECT_EQ(verdict.process.exit_code, 64);
  EXPECT_THAT(verdict.process.err,
              HasSubstr("holds no step yet that could be reproduced; the command that started it continues it with "
                        "--resume"));
  std::vector<std::string> resume = train;
  resume.push_back("--resume");
  EXPECT_EQ(RunProgramOnRanks({}, resume).exit_code, 0);
}

ProcessResult Outside(const std::string& verb, const Execution& execution, const std::vector<std::string>& keys) {
  std::vector<std::string> arguments = {"pipelines/" + verb, kOutsideRun};
  if (verb == "train") arguments.insert(arguments.end(), {"--output", UniqueTemporaryPath(), "--quiet"});
  for (const std::string& key : keys) arguments.insert(arguments.end(), {"--set", key});
  return RunProgramOnRanks(execution, arguments);
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The process is called for 44 episodes of several turns.
TEST(OutsideFaultsTest, AProcessThatHangsCostsOneTimeLimitForEachOfItsStarts) {
  for (const int ranks : {1, 2}) {
    for (const char* threads : {"1", "2"}) {
      const auto begin = std::chrono::steady_clock::now();
      const ProcessResult result = Outside("train", Failing("hangs", ranks),
                                           {"execution.process_time_limit=1", "execution.process_restarts=2",
                                            // A wait for a process is not the watchdog's concern.
                                            absl::StrCat("execution.watchdog_seconds=", ranks == 1 ? 0.1 : 10),
                                            absl::StrCat("execution.threads=", threads)});
      EXPECT_EQ(result.exit_code, 65) << result.err;
      EXPECT_THAT(result.err, AllOf(HasSubstr("error: step 3: "), HasSubstr("gave no reply within 1 seconds"),
                                    HasSubstr("restarting it (2 of 2)")));
      EXPECT_LT(SecondsSince(begin), 3 + 8) << "three time limits and the time of the run itself";
    }
  }
}

// The other rank's process replies, but would need half a minute for its share.
TEST(OutsideFaultsTest, AProcessThatHangsOnOneRankEndsTheOtherRanksToo) {
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result = Outside("train", Failing("hangs_on_rank_one", 2), {"execution.process_time_limit=3"});
  EXPECT_EQ(result.exit_code, 65) << result.err;
  EXPECT_THAT(result.err, HasSubstr("error: step 3: rank 1: the process \"exec python3 "));
  EXPECT_LT(SecondsSince(begin), 3 + 8) << "the time limit and the time of the run itself";
}

TEST(OutsideFaultsTest, AMissingProgramIsReportedAtOnceInOneSentence) {
  for (const std::string verb : {"validate", "train"}) {
    const ProcessResult result = Outside(verb, {}, {"process.command=\"exec ./no_such_program --x\""});
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_EQ(result.err, absl::StrCat("reprise ", verb,
                                       ": error: the process \"exec ./no_such_program --x\" cannot be started: there "
                                       "is no \"./no_such_program\"\n"));
  }
  const ProcessResult compound = Outside("train", {}, {"process.command=\"true && no_such_program 2>/dev/null\""});
  EXPECT_EQ(compound.exit_code, 64);
  EXPECT_THAT(compound.err, HasSubstr("which means that the shell found no such program"));
}

TEST(OutsideFaultsTest, ValidateCallsTheProcess) {
  EXPECT_EQ(Outside("validate", {}, {}).exit_code, 0);
  const ProcessResult echo = Outside("validate", {}, {"process.command=\"cat\""});
  EXPECT_EQ(echo.exit_code, 65);
  EXPECT_THAT(echo.err, AllOf(HasSubstr("error: before the first step: the process \"cat\" replied \"{"),
                              HasSubstr("unknown member \"actions\"")));
  const ProcessResult unflushed =
      Outside("validate", {},
              {"process.command=\"python3 -c 'import sys; [print(line) for line in sys.stdin]'\"",
               "execution.process_time_limit=1"});
  EXPECT_EQ(unflushed.exit_code, 65);
  EXPECT_THAT(unflushed.err, HasSubstr("must flush its standard output after each reply"));
  const ProcessResult colours =
      Outside("train", {}, {"process.command=\"while read -r line; do printf '\\\\033[31mred\\\\n'; done\""});
  EXPECT_EQ(colours.exit_code, 65);
  EXPECT_THAT(colours.err, HasSubstr("replied \"\\x1b[31mred\": "));
  EXPECT_EQ(colours.err.find('\x1b'), std::string::npos);
}

// A parent may ignore SIGCHLD, which a program inherits; the ends of its own children would then be unknown.
TEST(OutsideFaultsTest, AParentMayIgnoreTheEndsOfItsChildren) {
  constexpr char kParent[] =
      "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])";
  const ProcessResult result = RunProcess({"/usr/bin/env", "python3", "-c", kParent, "pipelines/train", kOutsideRun,
                                           "--output", UniqueTemporaryPath(), "--quiet"},
                                          {{"REPRISE_TEST_FAULT", "crash"}});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_THAT(result.err, HasSubstr("exited with code 3"));
}

}  // namespace
}  // namespace reprise::testing
