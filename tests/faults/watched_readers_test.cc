// Promise: an evaluation or reproduction on several ranks of which one is stopped, killed, or in an endless loop ends
// with exit code 75, a sentence and reports, as a training run does (watchdog_test.cc), and leaves the run as it was.

#include <signal.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/testing/sanitizers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/heartbeats.h"
#include "tests/faults/small_run.h"

namespace reprise::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kExitRetry = 75, kRanks = 3;

// A run that takes ten seconds or so to reproduce.
const SmallRun& Run() {
  static const SmallRun* const run = [] {
    auto* const trained =
        new SmallRun(TrainSmallRun({}, {.flags = {"--set", "run.steps=3000", "--set", "artifact.checkpoint_every=0",
                                                  "--set", "execution.save_every=0"}}));
    EXPECT_EQ(trained->process.exit_code, 0) << trained->process.err;
    return trained;
  }();
  return *run;
}

struct Verb {
  std::string name, work;  // "evaluate", "evaluation"
  std::vector<std::string> flags;
  std::function<bool(const RunPhase&)> is_there;  // whether the rank does what is to be disturbed
};

const Verb& Evaluate() {
  static const auto* const verb = new Verb{"evaluate", "evaluation", {"--samples", "65536"}, [](const RunPhase& phase) {
                                             return phase.kind == RunPhase::kEvaluate;
                                           }};
  return *verb;
}

// The limits are the ordinary ones after 20 steps.
const Verb& Reproduce() {
  static const auto* const verb = new Verb{"reproduce", "reproduction", {}, [](const RunPhase& phase) {
                                             return phase.kind == RunPhase::kStep && phase.step > 25;
                                           }};
  return *verb;
}

void ExpectEnds(const Verb& verb, int signal) {
  SCOPED_TRACE(verb.name + ", signal " + std::to_string(signal));
  const std::string directory = Run().directory, status_file = UniqueTemporaryPath();
  std::filesystem::remove_all(directory + "/watchdog");
  std::vector<std::string> arguments = {"pipelines/" + verb.name, directory + "/run.h5", "--set",
                                        "execution.watchdog_seconds=2"};
  arguments.insert(arguments.end(), verb.flags.begin(), verb.flags.end());
  std::map<std::string, std::string> variables = EnvironmentVariables({.directory = UniqueTemporaryPath()});
  variables.insert({{"FAULT_SHIM_HANGS", "1"}, {"REPRISE_STATUS_FILE", status_file}});
  const StartedProcess process = StartProgramOnRanks({.ranks = kRanks, .variables = variables}, arguments);
  const std::optional<pid_t> rank = FindProcess(directory, 1, verb.is_there);
  EXPECT_TRUE(rank.has_value());
  if (rank) kill(*rank, signal);
  const ProcessResult result = WaitFor(process, rank ? 60 : 0);
  EXPECT_FALSE(result.timed_out);
  // mpirun returns the code of the first rank that it sees ending; ./reprise makes 75 of it.
  const bool was_killed = signal == SIGKILL;
  EXPECT_THAT(result.exit_code, AnyOf(kExitRetry, was_killed ? 128 + SIGKILL : kExitRetry)) << result.err;
  const std::set<std::string> reports = WatchdogFilesIn(directory, ".report");
  // mpirun gives the other ranks of a dead one a second; on a busy machine they may have ended without a report.
  if (was_killed && reports.empty()) return;
  EXPECT_THAT(result.err, AllOf(HasSubstr("error: the watchdog ended the " + verb.work + ": "),
                                HasSubstr("the reports are in " + directory +
                                          "/watchdog, and the same command begins "
                                          "anew")));
  EXPECT_GE(reports.size(), was_killed ? 1u : signal == SIGSTOP ? kRanks - 1u : kRanks + 0u);
  for (const std::string& report : reports) {
    EXPECT_THAT(Contents(report), AllOf(HasSubstr(" ended the " + verb.work + ": "), HasSubstr("\nrank 0: host "),
                                        HasSubstr("\nrank 1: host "), HasSubstr("\nrank 2: host ")));
  }
  EXPECT_TRUE(was_killed || Contents(status_file) == "75\n");
}

TEST(WatchedReadersTest, AnEvaluationEndsWhateverHappensToARank) {
  if (kHasThreadSanitizer) GTEST_SKIP() << "no signal would make a rank hang";
  for (const int signal : {SIGSTOP, SIGKILL, SIGRTMIN + 1}) ExpectEnds(Evaluate(), signal);
}

TEST(WatchedReadersTest, AReproductionEndsWhateverHappensToARank) {
  if (kHasThreadSanitizer) GTEST_SKIP() << "no signal would make a rank hang";
  for (const int signal : {SIGSTOP, SIGKILL, SIGRTMIN + 1}) ExpectEnds(Reproduce(), signal);
}

TEST(WatchedReadersTest, UndisturbedTheyLeaveTheRunAsItWas) {
  const std::string directory = UndisturbedRun().directory;
  const auto names = [&] {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) all.insert(entry.path().filename());
    return all;
  };
  const std::set<std::string> before = names();
  for (const std::string verb : {"evaluate", "reproduce"}) {
    const ProcessResult result = RunProgramOnRanks({.ranks = kRanks}, {"pipelines/" + verb, directory + "/run.h5"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(names(), before) << verb;
  }
}

}  // namespace
}  // namespace reprise::testing
