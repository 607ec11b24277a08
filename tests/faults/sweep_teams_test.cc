// Promise: the table of a sweep has the same bytes on any ranks, in teams of any sizes, as tasks of a job array, and
// after a rank was killed and the sweep was started again. A trial that always kills its process becomes a failed row.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/injection.h"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr int kTrials = 12;

// Writes a sweep's file beside the configurations that it may name.
std::string WriteSweep(const std::string& text) {
  const std::string directory = UniqueTemporaryPath();
  std::filesystem::create_directories(directory);
  std::filesystem::copy_file("tests/workloads/quick_completions.toml", directory + "/completions.toml");
  std::filesystem::copy_file("tests/workloads/quick_bandit.toml", directory + "/bandit.toml");
  std::ofstream(directory + "/sweep.toml") << text;
  return directory + "/sweep.toml";
}

// Runs of completions and of the bandit, each under GRPO and RLOO with three seeds.
const std::string& TwelveTrials() {
  static const std::string* const file = new std::string(WriteSweep(R"([settings]
run.logical_shards = 2
execution.commit_every = 1
[grid]
algorithm.name = ["grpo", "rloo"]
run.seed = [1, 2, 3]
[[variants]]
name = "words"
config = "completions.toml"
[[variants]]
name = "choose"
config = "bandit.toml"
)"));
  return *file;
}

std::vector<std::string> Arguments(const std::string& file, const std::string& directory,
                                   const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"pipelines/sweep", file, "--output", directory};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

ProcessResult Sweep(const std::string& directory, const Execution& execution,
                    const std::vector<std::string>& more = {}) {
  return RunProgramOnRanks(execution, Arguments(TwelveTrials(), directory, more));
}

// The text of calls of which each trial makes six or more: it has two steps, each of which writes a line.
constexpr char kCall[] = "/metrics.jsonl";

// A trial in the middle of the sweep.
constexpr char kCulprit[] = "05-words-rloo-seed3";

// The files of the table, by name; those that exist.
std::map<std::string, std::string> TableIn(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const std::string name : {"sweep.h5", "sweep.csv", "sweep.md"}) {
    const std::string path = directory + "/" + name;
    if (std::filesystem::exists(path)) files[name] = Contents(path);
  }
  return files;
}

const std::map<std::string, std::string>& QuietTable() {
  static const auto* const table = [] {
    const std::string directory = UniqueTemporaryPath();
    const ProcessResult quiet = Sweep(directory, {});
    EXPECT_EQ(quiet.exit_code, 0) << quiet.err;
    auto* const files = new std::map<std::string, std::string>(TableIn(directory));
    EXPECT_EQ(files->size(), 3u);
    EXPECT_THAT((*files)["sweep.csv"], Not(HasSubstr("failed")));
    return files;
  }();
  return *table;
}

// The finished trials, with the time at which their runs were written.
std::map<std::string, std::filesystem::file_time_type> FinishedTrials(const std::string& directory) {
  std::map<std::string, std::filesystem::file_time_type> finished;
  if (!std::filesystem::exists(directory + "/trials")) return finished;
  for (const auto& trial : std::filesystem::directory_iterator(directory + "/trials")) {
    if (!std::filesystem::exists(trial.path() / "model/config.json")) continue;
    finished[trial.path().filename()] = std::filesystem::last_write_time(trial.path() / "run.h5");
  }
  return finished;
}

TEST(SweepTeamsTest, TheTableDoesNotDependOnTheTeams) {
  for (const std::string teams : {"1", "2", "2,1,1"}) {
    const std::string directory = UniqueTemporaryPath();
    const ProcessResult result = Sweep(directory, {.ranks = 4}, {"--teams", teams});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(TableIn(directory), QuietTable()) << "teams of " << teams;
    EXPECT_EQ(FinishedTrials(directory).size(), static_cast<size_t>(kTrials));
    EXPECT_FALSE(std::filesystem::exists(directory + "/dealing"));
    EXPECT_THAT(result.err, HasSubstr("trial 00-words-grpo-seed1 has ended"));
  }
}

TEST(SweepTeamsTest, AKilledRankEndsTheProgramAndTheNextOneGoesOn) {
  // Rank 2 writes in all of these teams. It is one of two that do in teams of 2, and is killed in its second trial.
  for (const auto& [teams, call] : {std::pair("1", 3), std::pair("2", 9), std::pair("2,1,1", 3)}) {
    SCOPED_TRACE(teams);
    const std::string directory = UniqueTemporaryPath();
    const Injection kill = {
        .directory = directory, .fault = "signal", .call = call, .signal = SIGKILL, .match = kCall, .rank = 2};
    const ProcessResult killed =
        Sweep(directory, {.ranks = 4, .variables = EnvironmentVariables(kill)}, {"--teams", teams});
    EXPECT_EQ(killed.exit_code, 128 + SIGKILL) << killed.err;
    EXPECT_TRUE(TableIn(directory).empty());
    const auto finished = FinishedTrials(directory);
    EXPECT_GE(finished.size(), call == 9 ? 1u : 0u);
    EXPECT_LT(finished.size(), static_cast<size_t>(kTrials));

    const ProcessResult again = Sweep(directory, {.ranks = 4}, {"--teams", teams});
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(TableIn(directory), QuietTable());
    EXPECT_THAT(FinishedTrials(directory), IsSupersetOf(finished)) << "finished trials are kept";
    EXPECT_FALSE(std::filesystem::exists(directory + "/dealing"));
  }
}

// Starts the sweep, whose trial kCulprit kills its process whenever it begins its journal, until it ends in order.
// Returns how often it was killed.
int StartUntilDone(const std::string& directory, const Execution& execution, const std::vector<std::string>& flags) {
  Injection kill = {.directory = directory, .fault = "signal", .call = 0, .signal = SIGKILL};
  kill.match = std::string(kCulprit) + "/journal";
  Execution with_kill = execution;
  with_kill.variables = EnvironmentVariables(kill);
  for (int deaths = 0; deaths < 12; ++deaths) {
    const ProcessResult result = Sweep(directory, with_kill, flags);
    if (result.exit_code == 0) {
      EXPECT_THAT(result.err, HasSubstr("warning: trial " + std::string(kCulprit) + " failed: "));
      return deaths;
    }
    EXPECT_EQ(result.exit_code, 128 + SIGKILL) << result.err;
  }
  ADD_FAILURE() << "the sweep never ends";
  return -1;
}

TEST(SweepTeamsTest, ATrialThatAlwaysKillsItsProcessIsARowAndTheSweepGoesOn) {
  const std::string alone = UniqueTemporaryPath();
  EXPECT_EQ(StartUntilDone(alone, {}, {}), 3);
  const auto table = TableIn(alone);
  ASSERT_EQ(table.size(), 3u);
  // The rows of the other trials are those of the quiet sweep.
  const std::vector<std::string> rows = absl::StrSplit(table.at("sweep.csv"), '\n');
  const std::vector<std::string> quiet = absl::StrSplit(QuietTable().at("sweep.csv"), '\n');
  ASSERT_EQ(rows.size(), quiet.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool is_culprit = rows[i].find(kCulprit) != std::string::npos;
    EXPECT_EQ(rows[i] == quiet[i], !is_culprit) << rows[i];
    if (is_culprit) {
      EXPECT_THAT(rows[i], HasSubstr(",failed,ABORTED,\"3 attempts in a row ended with the death of"));
    }
  }
  // Those who were executed beside it are not blamed, and the table is the same.
  const std::string teams = UniqueTemporaryPath();
  const int deaths = StartUntilDone(teams, {.ranks = 4}, {"--teams", "2,1,1"});
  EXPECT_GE(deaths, 3);
  EXPECT_LE(deaths, 5);
  EXPECT_EQ(TableIn(teams), table);
  // It is not tried again, until that is asked for; now nothing kills it.
  ASSERT_EQ(Sweep(alone, {}).exit_code, 0);
  EXPECT_EQ(TableIn(alone), table);
  const ProcessResult again = Sweep(alone, {}, {"--attempts", "4"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(TableIn(alone), QuietTable());
}

TEST(SweepTeamsTest, StopsInOrderAreNoLostAttempts) {
  const std::string directory = UniqueTemporaryPath(), first = "trials/00-words-grpo-seed1";
  const Injection stop = {
      .directory = directory, .fault = "signal", .call = 0, .signal = SIGTERM, .match = first + "/attempts.log"};
  for (int starts = 0; starts < 4; ++starts) {
    const ProcessResult stopped = Sweep(directory, {.variables = EnvironmentVariables(stop)});
    EXPECT_EQ(stopped.exit_code, 75) << stopped.err;
  }
  const std::vector<std::string> log = absl::StrSplit(Contents(directory + "/" + first + "/attempts.log"), '\n');
  EXPECT_EQ(log.size(), 2u * 4 + 1) << "each attempt has begun and was stopped";
  ASSERT_EQ(Sweep(directory, {}).exit_code, 0);
  EXPECT_EQ(TableIn(directory), QuietTable());
  EXPECT_FALSE(std::filesystem::exists(directory + "/" + first + "/attempts.log"));
}

TEST(SweepTeamsTest, ARankThatIsStoppedIsNoticedByOtherTeams) {
  const std::string directory = UniqueTemporaryPath();
  const Injection stop = {
      .directory = directory, .fault = "signal", .call = 3, .signal = SIGSTOP, .match = kCall, .rank = 1};
  const std::vector<std::string> flags = {"--teams", "1", "--set", "execution.watchdog_seconds=2"};
  const ProcessResult stopped = WaitFor(StartProgramOnRanks({.ranks = 3, .variables = EnvironmentVariables(stop)},
                                                            Arguments(TwelveTrials(), directory, flags)),
                                        120);
  EXPECT_EQ(stopped.exit_code, 75) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("reprise: error: the watchdog ended the sweep: rank 1 "));
  EXPECT_THAT(stopped.err, HasSubstr(" is stopped"));
  EXPECT_THAT(stopped.err, HasSubstr("the same command continues the sweep"));
  const ProcessResult again = Sweep(directory, {.ranks = 3}, flags);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(TableIn(directory), QuietTable());
}

// Nothing but the table is left to write, and to compare.
TEST(SweepTeamsTest, ARankThatIsStoppedOutsideOfTrialsIsNoticed) {
  const std::string directory = UniqueTemporaryPath();
  ASSERT_EQ(Sweep(directory, {}).exit_code, 0);
  std::filesystem::remove(directory + "/sweep.md");
  const auto stopped = [&](const std::string& call, int rank, const std::vector<std::string>& arguments) {
    const Injection stop = {
        .directory = directory, .fault = "signal", .call = 0, .signal = SIGSTOP, .match = call, .rank = rank};
    return WaitFor(StartProgramOnRanks({.ranks = 2, .variables = EnvironmentVariables(stop)}, arguments), 90);
  };
  const std::vector<std::string> limit = {"--set", "execution.watchdog_seconds=2"};
  const ProcessResult sweep = stopped("write sweep.md", 0, Arguments(TwelveTrials(), directory, limit));
  EXPECT_EQ(sweep.exit_code, 75) << sweep.err;
  EXPECT_THAT(sweep.err, HasSubstr("the watchdog ended the sweep: rank 0 (host "));
  ASSERT_EQ(Sweep(directory, {.ranks = 2}).exit_code, 0);
  EXPECT_EQ(TableIn(directory), QuietTable());
  // The first rank alone reads the table: no other can be stopped there.
  const ProcessResult whole = stopped("open sweep.h5", 1, {"pipelines/reproduce", directory, "--samples", "0"});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  const ProcessResult reproduction =
      stopped("open trials/", 1, {"pipelines/reproduce", directory, "--set", "execution.watchdog_seconds=2"});
  EXPECT_EQ(reproduction.exit_code, 75) << reproduction.err;
  EXPECT_THAT(reproduction.err, HasSubstr("the watchdog ended the reproduction: rank 1 (host "));
}

TEST(SweepTeamsTest, ARankThatIsStoppedWhileTheConfigurationsAreReadIsNoticed) {
  const Injection stop = {.directory = std::filesystem::path(TwelveTrials()).parent_path(),
                          .fault = "signal",
                          .call = 0,
                          .signal = SIGSTOP,
                          .match = "open bandit.toml",
                          .rank = 1};
  const std::string directory = UniqueTemporaryPath();
  const ProcessResult stopped =
      WaitFor(StartProgramOnRanks({.ranks = 2, .variables = EnvironmentVariables(stop)},
                                  Arguments(TwelveTrials(), directory, {"--set", "execution.watchdog_seconds=0.1"})),
              60);
  EXPECT_EQ(stopped.exit_code, 75) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("the watchdog ended the sweep: rank 0 (host "));
  EXPECT_THAT(stopped.err, HasSubstr("it was last in the plan of the sweep"));
  EXPECT_FALSE(std::filesystem::exists(directory)) << "nothing has begun";
}

// By the watchdog of the trial or that of the sweep, whichever is first. Both know that `sweep` has no --resume.
TEST(SweepTeamsTest, TheWatchdogOfATrialAdvisesToStartTheSweepAgain) {
  const std::string directory = UniqueTemporaryPath();
  const Injection stop = {
      .directory = directory, .fault = "signal", .call = 5, .signal = SIGSTOP, .match = kCall, .rank = 0};
  const ProcessResult stopped =
      WaitFor(StartProgramOnRanks({.ranks = 2, .variables = EnvironmentVariables(stop)},
                                  Arguments(TwelveTrials(), directory, {"--set", "execution.watchdog_seconds=2"})),
              60);
  EXPECT_EQ(stopped.exit_code, 75) << stopped.err;
  EXPECT_THAT(stopped.err, ::testing::ContainsRegex("the watchdog ended the (run|sweep): rank "));
  EXPECT_THAT(stopped.err, HasSubstr("the same command continues the sweep"));
  EXPECT_THAT(stopped.err, Not(HasSubstr("--resume")));
}

TEST(SweepTeamsTest, TasksOfAJobArrayShareTheTrialsAndTheLastWritesTheTable) {
  const std::string directory = UniqueTemporaryPath();
  const auto task = [](int64_t number) {
    return std::vector<std::string>{"--tasks", "3", "--task", absl::StrCat(number)};
  };
  // At the same time; the first is killed in its second trial, and started again after the others.
  const Injection kill = {.directory = directory, .fault = "signal", .call = 9, .signal = SIGKILL, .match = kCall};
  const StartedProcess first =
      StartProgramOnRanks({.variables = EnvironmentVariables(kill)}, Arguments(TwelveTrials(), directory, task(0)));
  const StartedProcess second = StartProgramOnRanks({.ranks = 2}, Arguments(TwelveTrials(), directory, task(1)));
  const StartedProcess third = StartProgramOnRanks({}, Arguments(TwelveTrials(), directory, task(2)));
  EXPECT_EQ(WaitFor(first).exit_code, 128 + SIGKILL);
  for (const StartedProcess& process : {second, third}) {
    const ProcessResult result = WaitFor(process);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("trials of other tasks have not ended"));
  }
  EXPECT_TRUE(TableIn(directory).empty());
  const auto finished = FinishedTrials(directory);
  EXPECT_EQ(finished.size(), 9u);

  const ProcessResult again = Sweep(directory, {}, task(0));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(TableIn(directory), QuietTable());
  EXPECT_THAT(FinishedTrials(directory), IsSupersetOf(finished));
}

TEST(SweepTeamsTest, ATeamThatFailsATrialTakesTheNext) {
  const std::string file = WriteSweep(R"([grid]
run.seed = [1, 2, 3, 4]
[[variants]]
name = "missing"
config = "completions.toml"
data.path = "nowhere.jsonl"
[[variants]]
name = "choose"
config = "bandit.toml"
)");
  const std::string directory = UniqueTemporaryPath(), alone = UniqueTemporaryPath();
  const ProcessResult result = RunProgramOnRanks({.ranks = 4}, Arguments(file, directory, {"--teams", "2"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("trials 8, of which 4 failed"));
  EXPECT_THAT(result.err, HasSubstr("warning: trial 03-missing-seed4 failed: "));
  ASSERT_EQ(RunProgramOnRanks({}, Arguments(file, alone, {})).exit_code, 0);
  EXPECT_EQ(TableIn(directory), TableIn(alone)) << "a row of a failed trial has no rank";
}

TEST(SweepTeamsTest, TeamsThatDoNotFitTheRanksAndTasksThatDoNotExistGive64AndOneSentence) {
  const auto expect_refused = [](const std::vector<std::string>& more, const std::string& sentence) {
    const std::string directory = UniqueTemporaryPath();
    const ProcessResult result = Sweep(directory, {.ranks = 2}, more);
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_THAT(result.err, HasSubstr("reprise sweep: error: " + sentence + "\n"));
    EXPECT_EQ(result.err.find("error:"), result.err.rfind("error:")) << result.err;
    EXPECT_FALSE(std::filesystem::exists(directory));
  };
  expect_refused({"--teams", "3"}, "--teams 3: a team of 3 ranks needs more than the 2 ranks of this program");
  expect_refused({"--teams", "1,1,1"}, "--teams 1,1,1: 3 teams are more than the 2 ranks of this program");
  expect_refused({"--tasks", "2"}, "--tasks 2: --task says which of them this is");
  expect_refused({"--tasks", "2", "--task", "2"},
                 "--task 2: expected a number less than --tasks, 2; the first task is 0");
}

}  // namespace
}  // namespace reprise::testing
