// Promise: a rank that is stopped, killed, in an endless loop, or that never reaches a collective ends the job with
// exit code 75 and reports of the ranks that still answer; a job that is suspended as a whole continues; neither
// changes a byte.
//
// The limits are lowered by execution.watchdog_seconds, and with them everything that the watchdog does. Prints a table
// of how long it took. REPRISE_WATCHDOG_TRIALS sets the number of trials of each kind; REPRISE_WATCHDOG_SECONDS the
// limit.

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "core/random/draw.h"
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

using Clock = std::chrono::steady_clock;

constexpr int kExitRetry = 75, kRanks = 3;

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

double ReadEnvironmentNumber(const char* variable, double missing) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? missing : std::atof(text);
}

// What happens to a rank, and the signal that makes it happen (tests/faults/shim/plan.h).
struct Kind {
  const char* name;
  int signal;
};
const Kind kKinds[] = {{"stopped", SIGSTOP},
                       {"killed", SIGKILL},
                       {"in an endless loop", SIGRTMIN + 1},
                       {"never reaches a collective", SIGRTMIN + 2}};

// A run that does not end by itself, in steps of a millisecond.
StartedSmallRun StartLongRun(int ranks, double seconds, const std::string& status_file) {
  Injection injection;
  SmallRunOptions options = {.ranks = ranks};
  options.flags = {
      "--set", "run.steps=100000000",         "--set", "execution.watchdog_seconds=" + std::to_string(seconds),
      "--set", "artifact.checkpoint_every=0", "--set", "execution.save_every=0"};
  options.variables = {{"FAULT_SHIM_HANGS", "1"}, {"REPRISE_STATUS_FILE", status_file}};
  return StartSmallRun(injection, options);
}

// Returns the process of a rank once the run has made enough steps for its limits to be the ordinary ones, and the
// rank's heartbeat names a step: the watchdog names the phase of the last heartbeat.
std::optional<pid_t> ProcessAfterSteps(const StartedSmallRun& run, int rank) {
  return FindProcess(run.directory, rank, [&](const RunPhase& phase) {
    std::error_code missing;
    return phase.kind == RunPhase::kStep &&
           std::filesystem::file_size(run.directory + "/metrics.jsonl", missing) > 60 * 1000 && !missing;
  });
}

struct Outcome {
  double took = 0;   // seconds until the job ended
  double limit = 0;  // that it had: of the phase, which is longer where rank 0 writes to a disk
  bool has_report = false;
  bool has_stack = false;  // of a rank's main thread, within a step
};

// Returns the limit that the sentence names, or the one of a process that is stopped or killed.
double LimitIn(const std::string& sentence, double seconds) {
  const size_t at = sentence.find("(limit ");
  return at == std::string::npos ? seconds : std::atof(sentence.c_str() + at + 7);
}

// Makes it happen to one rank.
Outcome Try(const Kind& kind, int rank, double seconds, double wait) {
  SCOPED_TRACE(std::string(kind.name) + ", rank " + std::to_string(rank));
  const std::string status_file = UniqueTemporaryPath();
  const StartedSmallRun run = StartLongRun(kRanks, seconds, status_file);
  const std::optional<pid_t> process = ProcessAfterSteps(run, rank);
  EXPECT_TRUE(process.has_value());
  if (process) {
    Sleep(wait);
    kill(*process, kind.signal);
  }
  const Clock::time_point begin = Clock::now();
  const ProcessResult result = WaitFor(run.process, process ? 20 * seconds + 20 : 0);
  const double took = SecondsSince(begin);
  EXPECT_FALSE(result.timed_out);
  const bool was_killed = kind.signal == SIGKILL;
  // mpirun returns the code of the first rank that it sees ending; ./reprise makes 75 of it.
  EXPECT_THAT(result.exit_code, was_killed ? AnyOf(kExitRetry, 128 + SIGKILL) : AnyOf(kExitRetry, kExitRetry));
  // A rank that hangs inside a call of MPI has come as far as those that wait for it there.
  const bool answers = kind.signal != SIGSTOP && !was_killed;
  const std::string rank_name = "rank " + std::to_string(rank) + " (host ";
  // In a collective that does not block, another rank may have come as far and be named first.
  const std::string second = answers ? "; so does rank " + std::to_string(rank) : rank_name;
  const auto name =
      AnyOf(HasSubstr(rank_name), HasSubstr(second), HasSubstr(answers ? "all ranks wait for each other" : rank_name));
  const std::set<std::string> reports = WatchdogFilesIn(run.directory, ".report");
  // mpirun gives the other ranks of a dead one a second; on a busy machine they may have ended without a report.
  if (!was_killed || !reports.empty()) {
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("error: the watchdog ended the run: "), name, HasSubstr("of training step ")));
  }
  EXPECT_GE(reports.size(), was_killed ? 0u : kRanks - (answers ? 0u : 1u)) << result.err;
  bool has_stack = false;
  for (const std::string& report : reports) {
    const std::string text = Contents(report);
    EXPECT_THAT(text, AllOf(name, HasSubstr("\nrank 0: host "), HasSubstr("\nrank 1: host "),
                            HasSubstr("\nrank 2: host "), HasSubstr("thread ")));
    // The stack of the main thread, unless a busy machine does not let it run within a twentieth of the limit.
    const bool shows_step = text.find("reprise::rl::Learner::TrainStep") != std::string::npos;
    has_stack = has_stack || shows_step;
    if (!kHasShadowMemory && !shows_step) {
      EXPECT_THAT(text, HasSubstr("(train):\n  it does not answer"));
    }
  }
  EXPECT_TRUE(was_killed || Contents(status_file) == "75\n");
  std::filesystem::remove_all(run.directory);
  std::filesystem::remove(run.log);
  return {took, LimitIn(result.err, seconds), !reports.empty(), has_stack};
}

TEST(WatchdogTest, EndsTheJobWithinItsLimitsWhateverHappensToARank) {
  if (kHasThreadSanitizer) GTEST_SKIP() << "no signal would make a rank hang";
  const int trials = static_cast<int>(ReadEnvironmentNumber("REPRISE_WATCHDOG_TRIALS", 1));
  const double seconds = ReadEnvironmentNumber("REPRISE_WATCHDOG_SECONDS", 4);
  std::printf("execution.watchdog_seconds = %g, %d ranks, %d trials of each kind; seconds to the end of the job\n",
              seconds, kRanks, trials);
  std::printf("%-28s %8s %8s %8s %16s %9s\n", "a rank is", "least", "median", "most", "longest limit", "reported");
  int rank = 0;
  bool has_stack = kHasShadowMemory;
  for (const Kind& kind : kKinds) {
    std::vector<double> times;
    double longest_limit = 0;
    int reported = 0;
    for (int trial = 0; trial < trials; ++trial) {
      const double wait = DrawUniform(7, Purpose::kTest, {.step = static_cast<uint64_t>(trial)}) * seconds / 4;
      const Outcome outcome = Try(kind, rank++ % kRanks, seconds, wait);
      EXPECT_LT(outcome.took, outcome.limit + seconds / 2 + 6) << kind.name << ": half a limit more, as it is rounded, "
                                                               << "and the launcher's end, on a busy machine";
      times.push_back(outcome.took);
      reported += outcome.has_report ? 1 : 0;
      has_stack = has_stack || outcome.has_stack;
      longest_limit = std::max(longest_limit, outcome.limit);
    }
    std::sort(times.begin(), times.end());
    std::printf("%-28s %8.2f %8.2f %8.2f %16.0f %9d\n", kind.name, times.front(), times[times.size() / 2], times.back(),
                longest_limit, reported);
    EXPECT_GT(reported, 0) << kind.name;
  }
  EXPECT_TRUE(has_stack);
}

TEST(WatchdogTest, EndsARunOfOneRankInAnEndlessLoop) {
  if (kHasThreadSanitizer) GTEST_SKIP() << "no signal would make the rank hang";
  const std::string status_file = UniqueTemporaryPath();
  const StartedSmallRun run = StartLongRun(1, 1, status_file);
  for (int waits = 0; waits < 3000 && !std::filesystem::exists(run.directory + "/metrics.jsonl"); ++waits) Sleep(0.01);
  Sleep(0.5);
  kill(run.process.pid, SIGRTMIN + 1);
  const ProcessResult result = WaitFor(run.process, 60);
  EXPECT_EQ(result.exit_code, kExitRetry);
  EXPECT_THAT(result.err, HasSubstr("error: the watchdog ended the run: rank 0 (host "));
  EXPECT_EQ(WatchdogFilesIn(run.directory, ".report").size(), 1u);
  EXPECT_EQ(Contents(status_file), "75\n");
}

std::vector<std::string> ManySteps(double seconds) {
  return {"--set", "run.steps=1000",         "--set", "artifact.checkpoint_every=0",
          "--set", "execution.save_every=0", "--set", "execution.watchdog_seconds=" + std::to_string(seconds)};
}

// All processes are stopped for longer than any limit, and continued one after the other. The limits exceed what a busy
// disk may take to write a heartbeat; judge_test.cc has further suspensions.
TEST(WatchdogTest, LetsAJobContinueThatWasSuspendedAsAWhole) {
  constexpr double kSeconds = 3;
  const std::string status_file = UniqueTemporaryPath();
  const StartedSmallRun run = StartSmallRun(
      {}, {.flags = ManySteps(kSeconds), .ranks = kRanks, .variables = {{"REPRISE_STATUS_FILE", status_file}}});
  std::vector<pid_t> processes;
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::optional<pid_t> process = ProcessAfterSteps(run, rank);
    ASSERT_TRUE(process.has_value());
    processes.push_back(*process);
  }
  for (const pid_t process : processes) kill(process, SIGSTOP);
  const Clock::time_point suspended = Clock::now();
  const SmallRun undisturbed = TrainSmallRun({}, {.flags = ManySteps(kSeconds)});
  Sleep(7 * kSeconds - SecondsSince(suspended));
  for (const pid_t process : processes) {
    kill(process, SIGCONT);
    Sleep(0.3 * kSeconds);
  }
  const ProcessResult result = WaitFor(run.process, 120);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(Contents(run.directory + "/run.h5") == undisturbed.run_bytes());
  EXPECT_FALSE(std::filesystem::exists(run.directory + "/watchdog"));
  EXPECT_EQ(Contents(status_file), "0\n");
}

}  // namespace
}  // namespace reprise::testing
