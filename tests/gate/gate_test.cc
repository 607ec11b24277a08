// Tests the gate program end to end, with gates whose two sides are scripts that print a number, and with a folder as
// /proc: nothing is timed, so no result depends on the load of this machine.

#include <filesystem>
#include <fstream>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/programs/process.h"

namespace reprise::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Both processors are idle and the ticks in /proc/stat do not change, so the number of runnable tasks decides.
constexpr char kStat[] =
    "cpu  100 0 100 5000 0 0 0 0 0 0\ncpu0 50 0 50 2500 0 0 0 0 0 0\ncpu1 50 0 50 2500 0 0 0 0 0 0\n";
constexpr char kQuiet[] = "9.50 9.00 8.00 1/300 1\n";  // it was busy, and no longer is
constexpr char kBusy[] = "0.00 0.00 0.00 3/300 1\n";

class GateTest : public ::testing::Test {
 protected:
  GateTest() : root_(UniqueTemporaryPath()) {
    std::filesystem::create_directories(root_ + "/proc");
    Write("proc/stat", kStat);
    Write("proc/loadavg", kQuiet);
  }

  void Write(const std::string& name, const std::string& text) { std::ofstream(root_ + "/" + name) << text; }

  // Writes a program that prints `seconds`, plus one thousandth for each call so far; `name` is relative to the
  // checkout.
  void WriteProgram(const std::string& name, const std::string& seconds) {
    Write(name, "#!/bin/sh\necho x >>" + root_ + "/calls\necho \"{\\\"s\\\": " + seconds + "$(wc -l <" + root_ +
                    "/calls | tr -d ' ')}\"\n");
    std::filesystem::permissions(root_ + "/" + name, std::filesystem::perms::owner_all);
  }

  void WriteGate(const std::string& denominator, const std::string& bound) {
    Write("gates.toml",
          "[step]\nclaim = \"A step is fast.\"\nnumerator = \"./ours\"\nnumerator_value = \"s\"\n"
          "denominator = \"" +
              denominator + "\"\n" + bound + "\nrepetitions = 5\n");
  }

  ProcessResult Gate(const std::vector<std::string>& more = {}, const std::string& isa = "") {
    std::vector<std::string> line = {"benchmarks/gate/gate", "--root",     root_, "--file",
                                     "gates.toml",           "--patience", "0"};
    line.insert(line.end(), {"--proc", root_ + "/proc", "--quiet"});
    line.insert(line.end(), more.begin(), more.end());
    std::map<std::string, std::string> variables;
    if (!isa.empty()) variables["REPRISE_ISA"] = isa;
    return RunProcess(line, variables);
  }

  std::string root_;
};

TEST_F(GateTest, AGateWithinItsBoundHolds) {
  WriteProgram("ours", "1.00");
  WriteProgram("theirs", "2.00");
  WriteGate("./theirs", "at_most = 0.6");
  const ProcessResult result = Gate();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("held        step "));
  EXPECT_THAT(result.out, EndsWith("\nPASS: 1 gate held\n"));
}

TEST_F(GateTest, TheSameGateFailsIfTheOtherSideGetsFaster) {
  WriteProgram("ours", "1.00");
  WriteProgram("theirs", "1.50");
  WriteGate("./theirs", "at_most = 0.6");
  const ProcessResult result = Gate();
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, StartsWith("fell        step                     0.66"));
  EXPECT_THAT(result.out, EndsWith("expected <= 0.6  (by chance: 0.004; 5 pairs)\nFAIL: 1 of 1 gates failed: step\n"));
}

TEST_F(GateTest, ABoundMayDependOnTheInstructionSetAndAGateMayHaveNone) {
  WriteProgram("ours", "1.00");
  WriteProgram("theirs", "1.50");
  WriteGate("./theirs", "at_most = 0.6\nat_most_avx2 = 0.8");
  EXPECT_EQ(Gate({}, "avx2").exit_code, 0);
  WriteGate("./theirs", "at_most = 0.8\nat_most_avx2 = 0.6");
  EXPECT_EQ(Gate({}, "avx2").exit_code, 1);
  WriteGate("./theirs", "judged = false");
  const ProcessResult reported = Gate();
  EXPECT_EQ(reported.exit_code, 0) << reported.err;
  EXPECT_THAT(reported.out, StartsWith("reported    step                     0.66"));
  EXPECT_THAT(reported.out, EndsWith("PASS: 0 gates held\n"));
}

TEST_F(GateTest, ALoadedMachineIsRefusedBeforeAnythingRuns) {
  WriteProgram("ours", "1.00");
  WriteProgram("theirs", "1.50");
  WriteGate("./theirs", "at_most = 0.6");
  Write("proc/loadavg", kBusy);
  const ProcessResult result = Gate();
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("reprise gate: error: other processes keep 2.0 of 2 processors busy"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/calls"));
}

TEST_F(GateTest, AGateIsNotJudgedIfOtherWorkStartsDuringItsMeasurement) {
  WriteProgram("ours", "1.00");
  WriteGate("./theirs", "at_most = 2");
  Write("theirs", "#!/bin/sh\necho '" + std::string(kBusy, sizeof(kBusy) - 2) + "' >" + root_ +
                      "/proc/loadavg\necho '{\"s\": 1}'\n");
  std::filesystem::permissions(root_ + "/theirs", std::filesystem::perms::owner_all);
  const ProcessResult result = Gate();
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.out, EndsWith("\nNOT JUDGED: other processes used the machine during 1 of 1 gates: step\n"));
}

TEST_F(GateTest, AnotherCommitCanBeTheBaseline) {
  std::filesystem::create_directories(root_ + "/other");
  WriteProgram("ours", "1.50");
  WriteProgram("other/ours", "1.00");
  WriteGate("baseline", "at_most = 1.1");
  const ProcessResult slower = Gate({"--against", "HEAD~1", "--baseline", root_ + "/other", "--json"});
  EXPECT_EQ(slower.exit_code, 1) << slower.err;
  EXPECT_THAT(slower.out, EndsWith("{\"event\":\"verdict\",\"pass\":false,\"fell\":[\"step\"],\"uncertain\":[],"
                                   "\"not_judged\":[]}\n"));
  WriteProgram("ours", "1.00");
  EXPECT_EQ(Gate({"--against", "HEAD~1", "--baseline", root_ + "/other"}).exit_code, 0);
  EXPECT_THAT(Gate().err, HasSubstr("those against the baseline need --against"));
}

TEST_F(GateTest, AMeasurementThatFailsGivesNoVerdict) {
  WriteGate("./theirs", "at_most = 0.6");
  const ProcessResult missing = Gate();
  EXPECT_EQ(missing.exit_code, 64);
  EXPECT_THAT(missing.err, HasSubstr("step: cannot run " + root_ + "/./ours"));
  Write("ours", "#!/bin/sh\necho broken >&2\nexit 3\n");
  std::filesystem::permissions(root_ + "/ours", std::filesystem::perms::owner_all);
  const ProcessResult failed = Gate();
  EXPECT_EQ(failed.exit_code, 70);
  EXPECT_THAT(failed.err, HasSubstr("step: ended with exit code 3: ./ours: broken\n"));
  EXPECT_EQ(Gate({"nonsense"}).exit_code, 64);
}

TEST_F(GateTest, AMachineWithTooFewProcessorsSkipsTheGate) {
  WriteGate("./theirs", "at_most = 0.6\nprocessors = 1000000");
  const ProcessResult result = Gate();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "PASS: 0 gates held\n");
}

TEST_F(GateTest, HelpShowsAnExample) {
  const ProcessResult help = Gate({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("Example:\n  ./reprise gate --against "));
}

TEST_F(GateTest, ProgramsToBuildAreNamed) {
  Write("gates.toml",
        "[step]\nclaim = \"Fast.\"\nnumerator = \"bazel-bin/a/b x\"\nnumerator_value = \"seconds\"\n"
        "denominator = \"bazel-bin/c/d x\"\nat_most = 1\n");
  EXPECT_EQ(Gate({"--programs"}).out, "//a:b\n//c:d\n");
}

}  // namespace
}  // namespace reprise::testing
