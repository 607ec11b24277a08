// sweep and reproduce of a sweep: the same table whatever happens on the way.

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/io/file_lock.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/table_file.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"
#include "tests/cli/sweep_files.h"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Table {
  std::string h5, csv, markdown;

  bool operator==(const Table&) const = default;
};

Table TableIn(const std::string& directory) {
  return {Contents(directory + "/sweep.h5"), Contents(directory + "/sweep.csv"), Contents(directory + "/sweep.md")};
}

TEST(SweepTest, TheTableDoesNotDependOnInterruptionsRanksOrTheOrderOfTrials) {
  const std::string file = WriteSweep(), quiet = MakeDirectory() + "/quiet";
  const ProcessResult first = RunSweep(file, quiet);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, StartsWith("trials 4, of which 0 failed\ntable " + quiet + "/sweep.md\n"));
  const Table table = TableIn(quiet);
  EXPECT_THAT(table.csv, StartsWith("trial,name,variant,seed,algorithm.name,run.seed,status,"));
  EXPECT_THAT(table.markdown, HasSubstr("| rloo - grpo | "));

  // Asked to stop in the second trial, killed in the third.
  const std::string stopped = MakeDirectory() + "/stopped";
  for (const auto& [trial, signal] : {std::pair("01-grpo-seed2", SIGTERM), {"02-rloo-seed1", SIGKILL}}) {
    const StartedProcess process =
        StartProgramOnRanks({}, {"pipelines/sweep", file, "--output", stopped, "--set", "execution.commit_every=1"});
    for (int i = 0; i < 20'000 && !std::filesystem::exists(stopped + "/trials/" + trial + "/metrics.jsonl"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    kill(process.pid, signal);
    const ProcessResult ended = WaitFor(process, 60);
    EXPECT_EQ(ended.exit_code, signal == SIGTERM ? 75 : 128 + SIGKILL) << ended.err;
    if (signal == SIGTERM) {
      EXPECT_THAT(ended.err, HasSubstr("the same command continues it\n"));
    }
    EXPECT_FALSE(std::filesystem::exists(stopped + "/sweep.h5"));
  }
  const ProcessResult resumed = RunSweep(file, stopped);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(TableIn(stopped), table);

  // In teams of ranks, and the first trial lost afterwards.
  const std::string ranks = MakeDirectory() + "/ranks";
  const ProcessResult parallel =
      RunProgramOnRanks({.ranks = 3}, {"pipelines/sweep", file, "--output", ranks, "--teams", "2,1"});
  ASSERT_EQ(parallel.exit_code, 0) << parallel.err;
  EXPECT_EQ(TableIn(ranks), table);
  std::filesystem::remove_all(ranks + "/trials/00-grpo-seed1");
  const ProcessResult again = RunSweep(file, ranks);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(TableIn(ranks), table);

  // As two tasks of a job array.
  const std::string array = MakeDirectory() + "/array";
  const ProcessResult second = RunSweep(file, array, {"--task", "1", "--tasks", "2"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_FALSE(std::filesystem::exists(array + "/sweep.h5"));
  ASSERT_EQ(RunSweep(file, array, {"--task", "0", "--tasks", "2"}).exit_code, 0);
  EXPECT_EQ(TableIn(array), table);
}

TEST(SweepTest, TeamsAndTasksMustFit) {
  const std::string file = WriteSweep(), directory = MakeDirectory() + "/sweep";
  EXPECT_THAT(RunSweep(file, directory, {"--teams", "1,1"}),
              FailsWith("sweep", 64, "--teams 1,1: 2 teams are more than the 1 rank of this program"));
  EXPECT_THAT(RunSweep(file, directory, {"--task", "2", "--tasks", "2"}),
              FailsWith("sweep", 64, "--task 2: expected a number less than --tasks, 2; the first task is 0"));
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST(SweepTest, AFailedTrialIsARowAndStopsNoOther) {
  const std::string file = WriteSweep(R"([grid]
run.seed = [1, 2]
[[variants]]
name = "choose"
config = "bandit.toml"
run.steps = 2
[[variants]]
name = "missing"
data.path = "nowhere.jsonl"
)");
  const std::string directory = MakeDirectory() + "/sweep";
  const ProcessResult result = RunSweep(file, directory);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("warning: trial 02-missing-seed1 failed: "));
  EXPECT_THAT(result.out, StartsWith("trials 4, of which 2 failed\n"));
  const Table table = TableIn(directory);
  const std::vector<std::string> lines = absl::StrSplit(table.csv, '\n');
  EXPECT_THAT(lines[2], HasSubstr(",done,,,2,"));
  EXPECT_THAT(lines[3], HasSubstr(",failed,NOT_FOUND,"));
  EXPECT_THAT(lines[3], Not(HasSubstr(directory)));
  ASSERT_EQ(RunSweep(file, directory).exit_code, 0);
  EXPECT_EQ(TableIn(directory), table) << "failed trials were tried again";
  EXPECT_THAT(RunVerb("reproduce", {directory, "--quiet"}).out,
              HasSubstr("PASS: the table is that of its 4 trials; executed again: 00-choose-seed1, 01-choose-seed2 (4 "
                        "steps agree bit for bit)\n"));
  const nlohmann::json verdict = RunForJson("reproduce", {directory, "--samples", "0"}, 0);
  EXPECT_EQ(verdict["trials"], 4);
  EXPECT_EQ(verdict.at("first_divergence"), nullptr);
}

TEST(SweepTest, AFolderBelongsToOneSweepAndOneProcess) {
  const std::string file = WriteSweep(), directory = MakeDirectory() + "/sweep";
  ASSERT_EQ(RunSweep(file, directory, {"--set", "run.steps=1"}).exit_code, 0);
  EXPECT_THAT(RunSweep(file, directory, {"--set", "run.steps=2"}),
              FailsWith("sweep", 64,
                        absl::StrCat(directory,
                                     " contains another sweep: its trial 00-grpo-seed1 has another configuration; "
                                     "choose another --output, or continue it with its own file")));
  std::string holder;
  ASSERT_OK_AND_ASSIGN(const FileLock lock, FileLock::Try(directory + "/lock", "", &holder));
  EXPECT_THAT(RunSweep(file, directory, {"--set", "run.steps=1"}),
              FailsWith("sweep", 75,
                        absl::StrCat("another process works on the sweep in ", directory,
                                     ": wait for its end, or stop it; this one has changed nothing")));
  EXPECT_EQ(RunSweep(file, directory, {"--set", "run.steps=1", "--task", "0", "--tasks", "2"}).exit_code, 75)
      << "tasks are excluded by a process that works on all trials";
  EXPECT_THAT(RunSweep(file, TrainTinyRun()).err, HasSubstr("choose another --output"));
}

TEST(SweepTest, ASweepIsNotTakenForARunOrAConfiguration) {
  const std::string file = WriteSweep(), directory = MakeDirectory() + "/sweep";
  const std::string is_sweep = " is the file of a sweep, and no configuration: ./reprise sweep " + file;
  EXPECT_THAT(RunVerb("validate", {file}), FailsWith("validate", 64, file + is_sweep + " --dry-run checks it"));
  EXPECT_THAT(RunVerb("train", {file, "--output", directory}).err, HasSubstr(is_sweep));
  ASSERT_EQ(RunSweep(file, directory, {"--set", "run.steps=1"}).exit_code, 0);
  for (const char* const verb : {"inspect", "evaluate"}) {
    const ProcessResult folder = RunVerb(verb, {directory});
    EXPECT_EQ(folder.exit_code, 64) << folder.err;
    EXPECT_THAT(folder.err, HasSubstr(directory + " is the folder of a sweep, and no run: sweep.md in it shows"));
  }
  for (const char* const verb : {"inspect", "evaluate", "reproduce"}) {
    const ProcessResult table = RunVerb(verb, {directory + "/sweep.h5"});
    EXPECT_EQ(table.exit_code, 64) << table.err;
    EXPECT_THAT(table.err, HasSubstr("sweep.h5 is the table of a sweep, and no run: sweep.md beside it shows it, and "
                                     "./reprise reproduce " +
                                     directory + " verifies it"));
  }
  const std::string run = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  EXPECT_THAT(RunVerb("train", {run, "--output", directory}),
              FailsWith("train", 64,
                        directory + " is the folder of a sweep, whose runs are in trials: choose another --output"));
  for (const char* const place : {"/trials/new", "/notes"}) {
    EXPECT_THAT(RunVerb("train", {run, "--output", directory + place}),
                FailsWith("train", 64,
                          absl::StrCat(directory, place, " is within the folder of the sweep in ", directory,
                                       ": choose another --output")));
  }
}

TEST(SweepTest, AnotherComparisonAndADeletedRunKeepTheOtherTrials) {
  const std::string file = WriteSweep(), directory = MakeDirectory() + "/sweep";
  ASSERT_EQ(RunSweep(file, directory, {"--set", "run.steps=2"}).exit_code, 0);
  const Table table = TableIn(directory);
  EXPECT_THAT(RunVerb("sweep", {WriteSweep(absl::StrCat(kSweep, "[compare]\nmetric = \"rewrad\"\n")), "--dry-run"}).err,
              HasSubstr("s.toml:6:10: unknown metric \"rewrad\"; did you mean \"reward\"?"));
  const std::string other = WriteSweep(absl::StrCat(kSweep, "[compare]\nmetric = \"bandit/regret\"\n"));
  std::filesystem::remove(directory + "/trials/00-grpo-seed1/run.h5");
  const ProcessResult compared = RunVerb("sweep", {other, "--output", directory, "--set", "run.steps=2"});
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.err, HasSubstr("[compare] has changed: the trials are kept, and compared anew"));
  EXPECT_THAT(compared.err, HasSubstr("are in " + directory + "/trials/00-grpo-seed1.aside1 now"));
  EXPECT_THAT(TableIn(directory).csv, HasSubstr(",bandit/regret,"));
  EXPECT_EQ(RunVerb("reproduce", {directory, "--quiet", "--samples", "1"}).exit_code, 0);
  ASSERT_EQ(RunSweep(file, directory, {"--set", "run.steps=2"}).exit_code, 0);
  EXPECT_EQ(TableIn(directory), table);
}

TEST(SweepTest, ADryRunPrintsTheTrials) {
  const ProcessResult result = RunVerb("sweep", {WriteSweep(), "--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("00-grpo-seed1  algorithm.name=\"grpo\"  run.seed=1\n01-grpo-seed2  "));
  EXPECT_THAT(result.out, EndsWith("03-rloo-seed2  algorithm.name=\"rloo\"  run.seed=2\n"));
  EXPECT_THAT(RunVerb("sweep", {WriteSweep()}),
              FailsWith("sweep", 64, "--output is missing: the folder of the sweep; --dry-run needs none"));
}

TEST(SweepTest, EveryShippedSweepIsValid) {
  int sweeps = 0;
  for (const auto& entry : std::filesystem::directory_iterator("configs")) {
    if (!absl::StartsWith(entry.path().filename().string(), "sweep_")) continue;
    ++sweeps;
    for (const std::vector<std::string>& shorter : {{}, std::vector<std::string>{"--set", "run.steps=1"}}) {
      std::vector<std::string> arguments = {entry.path().string(), "--dry-run"};
      arguments.insert(arguments.end(), shorter.begin(), shorter.end());
      const ProcessResult result = RunVerb("sweep", arguments);
      EXPECT_EQ(result.exit_code, 0) << entry.path() << ": " << result.err;
    }
  }
  EXPECT_EQ(sweeps, 2);
  const std::vector<std::string> spec =
      absl::StrSplit(RunVerb("sweep", {"configs/sweep_multi_turn.toml", "--dry-run"}).out, '\n');
  EXPECT_EQ(spec.size(), 81u + 1) << "the grid has 81 trials";
}

TEST(ReproduceSweepTest, FindsWhatIsNotOfTheTrials) {
  const std::string file = WriteSweep(), directory = MakeDirectory() + "/sweep";
  ASSERT_EQ(RunSweep(file, directory).exit_code, 0);
  const ProcessResult pass = RunVerb("reproduce", {directory, "--samples", "1", "--quiet"});
  EXPECT_EQ(pass.exit_code, 0) << pass.err;
  EXPECT_THAT(pass.out, EndsWith(" (40 steps agree bit for bit)\n"));

  std::filesystem::rename(directory + "/trials/02-rloo-seed1/run.h5", directory + "/moved");
  EXPECT_THAT(
      RunVerb("reproduce", {directory, "--quiet"}),
      FailsWith("reproduce", 64,
                directory +
                    "/trials/02-rloo-seed1 has no run.h5, so that the sweep is not complete: restore it, or let "
                    "the command that started the sweep execute the trial again"));
  std::filesystem::rename(directory + "/moved", directory + "/trials/02-rloo-seed1/run.h5");
  std::filesystem::rename(directory + "/sweep.md", directory + "/moved");
  EXPECT_THAT(
      RunVerb("reproduce", {directory, "--quiet"}),
      FailsWith("reproduce", 64, directory + " has no sweep.md: the command that started the sweep writes it again"));
  std::filesystem::rename(directory + "/moved", directory + "/sweep.md");

  const std::string other = MakeDirectory() + "/other";
  ASSERT_EQ(RunSweep(file, other, {"--set", "run.steps=41"}).exit_code, 0);
  std::filesystem::copy_file(other + "/sweep.csv", directory + "/sweep.csv",
                             std::filesystem::copy_options::overwrite_existing);
  const ProcessResult csv = RunVerb("reproduce", {directory, "--quiet"});
  EXPECT_EQ(csv.exit_code, 1);
  EXPECT_EQ(csv.out, "FAIL: sweep.csv is not that of the table\n");
  std::filesystem::rename(directory + "/sweep.h5", directory + "/moved");
  std::filesystem::copy_file(other + "/sweep.h5", directory + "/sweep.h5");
  EXPECT_EQ(RunVerb("reproduce", {directory, "--quiet"}).out,
            "FAIL: the plan: sweep.h5 has another one than plan.json\n");
  std::filesystem::rename(directory + "/moved", directory + "/sweep.h5");

  const std::string trial = "/trials/00-grpo-seed1/run.h5";
  std::filesystem::remove(directory + trial);
  std::filesystem::copy_file(other + trial, directory + trial);
  EXPECT_THAT(RunVerb("reproduce", {directory, "--quiet"}),
              FailsWith("reproduce", 64,
                        directory + trial +
                            " is not the run of trial 00-grpo-seed1: it has another configuration; move its folder "
                            "away, and the sweep executes the trial"));
  std::filesystem::remove(directory + "/sweep.h5");
  EXPECT_THAT(RunVerb("reproduce", {directory, "--quiet"}).err, HasSubstr("the sweep is not complete"));
  EXPECT_THAT(RunVerb("reproduce", {other + trial, "--samples", "1"}),
              FailsWith("reproduce", 64,
                        absl::StrCat("--samples: ", other, trial, " is not the folder of a sweep: remove the option")));
}

// Every file of the sweep and every folder's name says the other algorithm, and sweep.h5 is made of that plan: only the
// runs themselves tell.
TEST(ReproduceSweepTest, AnExchangeOfTwoSettingsInAllFilesIsFound) {
  const std::string file = WriteSweep(), directory = MakeDirectory() + "/sweep";
  ASSERT_EQ(RunSweep(file, directory, {"--set", "run.steps=2"}).exit_code, 0);
  const std::string plan = Contents(directory + "/plan.json");
  std::string other = plan;
  // The configurations' digests stay with their places.
  other = absl::StrReplaceAll(other, {{"grpo", "rloo"}, {"rloo", "grpo"}});
  ASSERT_NE(other, plan);
  std::ofstream(directory + "/plan.json") << other;
  const std::string trials = directory + "/trials/";
  for (const char* const seed : {"1", "2"}) {
    const int index = seed[0] - '1';
    std::filesystem::rename(absl::StrCat(trials, "0", index, "-grpo-seed", seed),
                            absl::StrCat(trials, "0", index, "-rloo-seed", seed));
    std::filesystem::rename(absl::StrCat(trials, "0", index + 2, "-rloo-seed", seed),
                            absl::StrCat(trials, "0", index + 2, "-grpo-seed", seed));
  }
  for (const char* const name : {"/sweep.csv", "/sweep.md"}) {
    std::ofstream(directory + name) << absl::StrReplaceAll(Contents(directory + name),
                                                           {{"grpo", "rloo"}, {"rloo", "grpo"}});
  }
  absl::StatusOr<TableFile> table = ParseTableFile(Contents(directory + "/sweep.h5"), "sweep.h5");
  ASSERT_OK(table);
  absl::StatusOr<std::string> bytes = EncodeTableFile(other, table->tables);
  ASSERT_OK(bytes);
  std::ofstream(directory + "/sweep.h5") << *bytes;
  const ProcessResult result = RunVerb("reproduce", {directory, "--quiet"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_EQ(result.out, "FAIL: trial 00-rloo-seed1: the plan's algorithm.name is \"rloo\", its run has \"grpo\"\n");
}

TEST(ReproduceSweepTest, RunsThatAreExchangedCopiedOrNotPlannedAreFound) {
  const std::string file = WriteSweep(), directory = MakeDirectory() + "/sweep", trials = directory + "/trials/";
  ASSERT_EQ(RunSweep(file, directory, {"--set", "run.steps=2"}).exit_code, 0);
  const std::string a = trials + "00-grpo-seed1/run.h5", b = trials + "02-rloo-seed1/run.h5";
  const std::string of_a = Contents(a), of_b = Contents(b);
  const auto write = [](const std::string& path, const std::string& bytes) {
    std::filesystem::remove(path);
    std::ofstream(path) << bytes;
  };
  write(a, of_b), write(b, of_a);
  EXPECT_THAT(RunVerb("reproduce", {directory, "--quiet"}).err, HasSubstr("it has another configuration"));
  write(b, of_b);
  EXPECT_EQ(RunVerb("reproduce", {directory, "--quiet"}).exit_code, 64) << "copied over another";
  write(a, of_a);
  std::filesystem::create_directory(trials + "04-rloo-seed3");
  write(trials + "04-rloo-seed3/run.h5", of_b);
  EXPECT_EQ(RunVerb("reproduce", {directory, "--quiet"}).out,
            "FAIL: trials/04-rloo-seed3 has a run, and the plan no such trial\n");
  std::filesystem::remove_all(trials + "04-rloo-seed3");
  write(trials + "00-grpo-seed1/failure.json", "{\"code\": \"DATA_LOSS\", \"sentence\": \"x\"}\n");
  const ProcessResult both = RunVerb("reproduce", {directory, "--quiet"});
  EXPECT_EQ(both.exit_code, 65);
  EXPECT_THAT(both.err, HasSubstr("failure.json: a failure is noted beside a complete run.h5"));
  ASSERT_EQ(RunSweep(file, directory, {"--set", "run.steps=2"}).exit_code, 0) << "which removes the note";
  EXPECT_EQ(RunVerb("reproduce", {directory, "--quiet"}).exit_code, 0);
}

TEST(ReproduceSweepTest, ASweepWithoutARunProvesNothing) {
  const std::string file = WriteSweep("[grid]\nrun.seed = [1, 2]\n[settings]\ndata.path = \"nowhere.jsonl\"\n");
  const std::string directory = MakeDirectory() + "/sweep";
  ASSERT_EQ(RunSweep(file, directory).exit_code, 0);
  EXPECT_THAT(RunVerb("reproduce", {directory, "--quiet"}),
              FailsWith("reproduce", 64,
                        absl::StrCat(directory,
                                     " has no trial that has ended with a run, so that nothing can be verified; "
                                     "sweep.md says why they failed, and the command that started the sweep tries "
                                     "them again")));
}

}  // namespace
}  // namespace reprise::testing
