// Promises of runs whose environment is an external process: the same bytes with any execution, and reproducible
// without the process.

#include "tests/environments/outside.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

// Returns whether the process ends within 5 seconds, which a process that hangs does not.
bool IsGoneSoon(int pid) {
  for (int i = 0; i < 500 && kill(pid, 0) == 0; ++i) usleep(10000);
  return kill(pid, 0) != 0;
}

const TrainedRun& Baseline() {
  static const auto* const run = new TrainedRun(Train(kOutsideRun, {}, {}));
  return *run;
}

TEST(OutsideTest, RanksThreadsBatchesAndSlotsChangeNoByte) {
  for (const int ranks : {1, 2, 3, 4}) {
    SCOPED_TRACE(ranks);
    const TrainedRun run = Train(kOutsideRun,
                                 {"execution.threads=" + std::to_string(5 - ranks), "execution.micro_batch_tokens=20",
                                  "execution.decode_slots=3"},
                                 {.ranks = ranks});
    EXPECT_EQ(run.run_sha256, Baseline().run_sha256);
    EXPECT_GT(run.counts.cut_groups, Baseline().counts.cut_groups);
    EXPECT_GT(run.counts.refills, Baseline().counts.refills);
  }
}

TEST(OutsideTest, AReplayNeedsNoProcessAndARegenerationCallsItAgain) {
  const Verdict replay = Reproduce(Baseline().file(), "replay", Failing("crash", 2));
  EXPECT_TRUE(replay.pass) << replay.process.err;
  EXPECT_EQ(replay.steps_checked, 7);
  const Verdict regenerated = Reproduce(Baseline().file(), "regenerate", {}, GivingTheCommand());
  EXPECT_TRUE(regenerated.pass) << regenerated.process.err;
  const Verdict failing = Reproduce(Baseline().file(), "regenerate", Failing("crash"), GivingTheCommand());
  EXPECT_FALSE(failing.given);
}

// The machine that reproduces a run has the program at another path.
TEST(OutsideTest, ARegenerationStartsTheProcessWithTheGivenCommand) {
  const std::string gone = UniqueTemporaryPath(), here = UniqueTemporaryPath();
  for (const std::string& path : {gone, here}) std::ofstream(path) << Contents("tests/environments/outside.py");
  const TrainedRun run = Train(kOutsideRun, {"process.command=\"exec python3 " + gone + "\""}, {});
  std::remove(gone.c_str());
  const auto reproduce = [&](const std::vector<std::string>& more) {
    std::vector<std::string> argv = {"pipelines/reproduce", run.file(), "--quiet"};
    argv.insert(argv.end(), more.begin(), more.end());
    return RunProgramOnRanks({}, argv);
  };
  EXPECT_EQ(reproduce({"--mode", "regenerate"}).exit_code, 64);
  const ProcessResult found = reproduce({"--mode", "regenerate", "--process-command", "exec python3 " + here});
  EXPECT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.out, ::testing::HasSubstr("PASS: 7 steps agree"));
  // Another program is detected, and the option is refused in a replay, which calls no process.
  const ProcessResult other =
      reproduce({"--mode", "regenerate", "--process-command", "exec python3 docs/examples/number_guess.py"});
  EXPECT_EQ(other.exit_code, 1) << other.err;
  EXPECT_EQ(reproduce({"--process-command", "cat"}).exit_code, 64);
  const std::string bytes = Contents(run.file());
  EXPECT_THAT(bytes, ::testing::HasSubstr(gone)) << "the run must keep the command that it was trained with";
}

// A file may come from an untrusted person.
TEST(OutsideTest, NoVerbExecutesTheCommandOfAFile) {
  const std::string mark = UniqueTemporaryPath();
  const TrainedRun run =
      Train(kOutsideRun,
            {"process.command=\"touch " + mark + "; : \\u001B[31m; exec python3 tests/environments/outside.py\"",
             "evaluation.every=2", "evaluation.num_prompts=2"},
            {});
  ASSERT_TRUE(std::filesystem::remove(mark)) << "training executes it";
  const ProcessResult refused =
      RunProgramOnRanks({}, {"pipelines/reproduce", run.file(), "--quiet", "--mode", "regenerate"});
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_THAT(refused.err, ::testing::HasSubstr("--process-command CMD; the command in the file is not "
                                                "executed; it is \"touch " +
                                                mark + "; : \\x1b[31m; exec python3"));
  EXPECT_TRUE(Reproduce(run.file(), "replay", {}).pass);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"pipelines/evaluate", run.file()},
        {"pipelines/evaluate", run.file(), "--samples", "1"},
        {"pipelines/evaluate", run.file(), "--step", "4", "--set", "evaluation.num_prompts=3"}}) {
    RunProgramOnRanks({}, more);
  }
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST(OutsideTest, TheOptionForTheCommandIsRejectedForARunWithoutAProcess) {
  const TrainedRun run = Train("tests/determinism/small.toml", {}, {});
  const ProcessResult refused = RunProgramOnRanks(
      {}, {"pipelines/reproduce", run.file(), "--quiet", "--mode", "regenerate", "--process-command", "cat"});
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_THAT(refused.err, ::testing::HasSubstr("--process-command: the run has no external process"));
}

TEST(OutsideTest, TheExampleInTheDocumentationWorks) {
  const std::vector<std::string> example = {"process.command=\"exec python3 docs/examples/number_guess.py\""};
  const TrainedRun run = Train(kOutsideRun, example, {});
  EXPECT_EQ(Train(kOutsideRun, example, {.ranks = 2}).run_sha256, run.run_sha256);
}

TEST(OutsideTest, AProcessThatExitsBetweenEpisodesIsRestarted) {
  const TrainedRun run = Train(kOutsideRun, {"execution.process_restarts=1"}, Failing("exits"));
  EXPECT_EQ(run.run_sha256, Baseline().run_sha256);
  EXPECT_GT(run.counts.process_restarts, 3);
  EXPECT_EQ(run.counts.process_starts, run.counts.process_restarts + 1);
  EXPECT_THAT(run.process.err, ::testing::HasSubstr("exited with code 0; the request was for prompt "));
  EXPECT_THAT(run.process.err, ::testing::HasSubstr("; restarting it (1 of 1)"));
  EXPECT_EQ(Baseline().counts.process_restarts, 0);
  EXPECT_EQ(Baseline().counts.process_starts, 1);
}

TEST(OutsideTest, SeveralConcurrentProcessesChangeNoByte) {
  for (const int ranks : {1, 2}) {
    const TrainedRun run = Train(kOutsideRun, {"execution.process_count=3", "evaluation.every=0"}, {.ranks = ranks});
    EXPECT_EQ(run.run_sha256, Baseline().run_sha256);
    EXPECT_GT(run.counts.process_starts, ranks);
    EXPECT_LE(run.counts.process_starts, 3 * ranks);
  }
}

// The reward reads the member "check" of a problem; nothing reads the answer.
TEST(OutsideTest, AProcessReceivesTheWholeLineOfAProblem) {
  const std::string problems = UniqueTemporaryPath() + ".jsonl", program = UniqueTemporaryPath();
  std::ofstream file(problems);
  for (int i = 0; i < 6; ++i) {
    file << R"({"prompt": "say )" << i << R"(=", "check": {"length": )" << i % 3
         << (i % 2 ? "}}" : R"(}, "answer": null})") << "\n";
  }
  file.close();
  std::ofstream(program) << R"(
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    task = request["task"]
    assert task["answer"] is None and sorted(task) == ["answer", "check", "prompt"], task
    near = 1 / (1 + abs(len(request["completion"]) - task["check"]["length"]))
    print(json.dumps({"id": request["id"], "reward": near}), flush=True)
)";
  const std::string command = "exec python3 " + program;
  const std::vector<std::string> keys = {"data.path=\"" + problems + "\"",

                                         "data.min_length=1",
                                         "data.max_length=5",
                                         "data.alphabet_size=8",
                                         "sft.steps=0",
                                         "sft.prompts_per_step=64",
                                         "sft.learning_rate=1e-3",
                                         "process.command=\"" + command + "\"",
                                         "algorithm.reward=\"process\"",
                                         "evaluation.every=2",
                                         "evaluation.held_out_share=0.5",
                                         "execution.process_count=2"};
  const TrainedRun run = Train("tests/determinism/small.toml", keys, {});
  EXPECT_TRUE(
      Reproduce(run.file(), "regenerate", {.ranks = 2}, {"--data", problems, "--process-command", command}).pass);
  const ProcessResult refused = RunProgramOnRanks(
      {}, {"pipelines/reproduce", run.file(), "--data", problems, "--set", "execution.threads=2", "--quiet"});
  EXPECT_EQ(refused.exit_code, 0) << refused.err;
}

TEST(OutsideTest, FeaturesAndToolCallsOfAProcessAreReplayedWithoutIt) {
  Execution featuring = {.ranks = 1};
  featuring.variables["REPRISE_TEST_FEATURES"] = "1";
  const std::vector<std::string> keys = {"environment.feature_bins=8", "environment.max_tool_calls=1",
                                         "environment.tool_call_refusal=\"no\\n\""};
  const TrainedRun run = Train(kOutsideRun, keys, featuring);
  EXPECT_NE(run.run_sha256, Train(kOutsideRun, keys, {}).run_sha256) << "an observation in words gave the same run";
  const Verdict replay = Reproduce(run.file(), "replay", Failing("absent", 2));
  EXPECT_TRUE(replay.pass) << replay.process.err;
  featuring.ranks = 3;
  EXPECT_EQ(Train(kOutsideRun, keys, featuring).run_sha256, run.run_sha256);
  EXPECT_TRUE(Reproduce(run.file(), "regenerate", featuring, GivingTheCommand()).pass);
  EXPECT_THAT(Contents(run.directory + "/metrics.jsonl"), ::testing::HasSubstr("tools/failure_frequency"));
}

// The run's states are deleted, so that all of its steps are executed again.
TEST(OutsideTest, AProcessIsNotCalledAgainForCommittedSteps) {
  const std::string directory = UniqueTemporaryPath();
  std::vector<std::string> train = {"pipelines/train", kOutsideRun, "--output", directory, "--quiet"};
  std::vector<std::string> begin = train;
  begin.insert(begin.end(), {"--stop-after-step", "3"});
  EXPECT_EQ(RunProgramOnRanks({}, begin).exit_code, 0);
  std::filesystem::remove_all(directory + "/states");
  train.emplace_back("--resume");
  const ProcessResult resumed = RunProgramOnRanks(Failing("crash"), train);  // in step 3
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(Contents(directory + "/run.h5"), Contents(Baseline().file()));
}

TEST(OutsideTest, AKilledRunIsResumedToTheSameBytes) {
  for (const int ranks : {1, 2}) {
    const std::string directory = UniqueTemporaryPath();
    const std::vector<std::string> train = {
        "pipelines/train", kOutsideRun, "--output", directory, "--quiet", "--set", "execution.commit_every=1"};
    Execution killing = Failing("kill_trainer", ranks);
    const std::string pid_file = UniqueTemporaryPath();
    killing.variables["REPRISE_TEST_PID_FILE"] = pid_file;
    const ProcessResult killed = RunProgramOnRanks(killing, train);
    EXPECT_NE(killed.exit_code, 0);
    EXPECT_TRUE(IsGoneSoon(std::stoi(Contents(pid_file)))) << "the process still runs after its trainer was killed";
    std::vector<std::string> resume = train;
    resume.emplace_back("--resume");
    const ProcessResult resumed = RunProgramOnRanks({.ranks = 3 - ranks}, resume);
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(Contents(directory + "/run.h5"), Contents(Baseline().file()));
  }
}

}  // namespace
}  // namespace reprise::testing
