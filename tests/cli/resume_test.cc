// train --resume: every case in which a run is resumed, and every case in which resuming is refused.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRun[] = R"([run]
steps = 6
[sft]
steps = 2
prompts_per_step = 4
[rollout]
prompts_per_step = 8
num_generations = 2
max_completion_length = 4
[execution]
commit_every = 2
save_every = 3
)";

class Runs {
 public:
  Runs() : directory_(MakeDirectory()), config_(WriteFile(directory_, "run.toml", kRun)) {}

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  const std::string& Config() const { return config_; }
  std::string File(const std::string& name) const { return Path(name) + "/run.h5"; }

  ProcessResult Train(const std::string& name, const std::vector<std::string>& flags) const {
    std::vector<std::string> arguments = {config_, "--output", Path(name), "--quiet"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunVerb("train", arguments);
  }

  // Fails the test if the exit code is not 0.
  void MustTrain(const std::string& name, const std::vector<std::string>& flags = {}) const {
    const ProcessResult result = Train(name, flags);
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }

 private:
  const std::string directory_, config_;
};

int64_t FilesIn(const std::string& directory) {
  const auto begin = std::filesystem::directory_iterator(directory);
  return std::distance(begin, std::filesystem::directory_iterator());
}

TEST(ResumeTest, AStoppedAndResumedRunHasTheBytesOfAnUninterruptedRun) {
  const Runs runs;
  runs.MustTrain("whole");
  for (const char* stop : {"1", "2", "5"}) {
    const std::string name = std::string("stopped-") + stop;
    runs.MustTrain(name, {"--stop-after-step", stop});
    runs.MustTrain(name, {"--resume"});
    EXPECT_EQ(Contents(runs.File(name)), Contents(runs.File("whole"))) << stop;
    EXPECT_EQ(MetricsWithoutTimes(runs.Path(name)), MetricsWithoutTimes(runs.Path("whole")));
    EXPECT_EQ(Contents(runs.Path(name) + "/model/model.safetensors"),
              Contents(runs.Path("whole") + "/model/model.safetensors"));
    // The run up to the stop is kept as a file of its own.
    const nlohmann::json verdict = RunForJson("reproduce", {runs.Path(name) + "/run.until-" + stop + ".h5"}, 0);
    EXPECT_EQ(verdict["steps_checked"], 2 + std::stoi(stop));
  }
}

TEST(ResumeTest, MetricsContainTheGlobalStepAndTheSecondsOfTheWholeRun) {
  const Runs runs;
  runs.MustTrain("a", {"--stop-after-step", "3"});
  runs.MustTrain("a", {"--resume"});
  int64_t step = 0;
  double seconds = 0;
  for (const nlohmann::json& line : JsonLines(Contents(runs.Path("a") + "/metrics.jsonl"))) {
    EXPECT_EQ(line["global_step"], ++step);
    EXPECT_EQ(line["step"], step <= 2 ? step : step - 2);
    EXPECT_NEAR(line["seconds"].get<double>(), seconds + line["step_time"].get<double>(), 1e-9) << step;
    seconds = line["seconds"];
  }
  EXPECT_EQ(step, 8);
}

TEST(ResumeTest, StatesAreSavedAtMultiplesOfSaveEveryAndAtTheLastStep) {
  const Runs runs;
  runs.MustTrain("a", {"--stop-after-step", "3", "--set", "execution.save_every=2"});
  std::set<std::string> states;
  for (const auto& file : std::filesystem::directory_iterator(runs.Path("a") + "/states")) {
    states.insert(file.path().filename().string());
  }
  EXPECT_EQ(states, (std::set<std::string>{"00000004.h5", "00000005.h5"}));  // counts the two SFT steps
}

TEST(ResumeTest, ResumingAFinishedRunCleansUpAndPrintsItsDigestsAgain) {
  const Runs runs;
  runs.MustTrain("a", {"--stop-after-step", "3"});
  const std::string states = runs.Path("a") + "/states", kept = runs.Path("kept");
  std::filesystem::copy(states, kept);
  const ProcessResult first = runs.Train("a", {"--resume"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  std::filesystem::remove(runs.Path("a") + "/model/config.json");  // as if the export had been killed
  std::filesystem::copy(kept, states);
  const ProcessResult again = runs.Train("a", {"--resume"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, first.out);
  EXPECT_FALSE(std::filesystem::exists(states));
  EXPECT_EQ(FilesIn(runs.Path("a") + "/model"), 6);
}

TEST(ResumeTest, AFinishedRunSaysThatNothingIsLeftToTrain) {
  const Runs runs;
  runs.MustTrain("a", {"--stop-after-step", "4"});
  const auto told = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {runs.Config(), "--output", runs.Path("a"), "--resume"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunVerb("train", arguments).err;
  };
  EXPECT_THAT(told({"--stop-after-step", "5"}), Not(HasSubstr("is finished")));
  EXPECT_THAT(told({}), Not(HasSubstr("is finished")));
  const std::string finished = "the run in " + runs.Path("a") +
                               " is finished (run.steps = 6), and nothing is left to train; a greater run.steps adds "
                               "steps\n";
  EXPECT_THAT(told({}), HasSubstr(finished));
  EXPECT_EQ(told({"--check", "--ranks-to-start", "2"}), "");
  EXPECT_THAT(told({"--set", "run.steps=7"}), Not(HasSubstr("is finished")));
}

TEST(ResumeTest, AnExtendedRunHasTheBytesOfARunWithAllStepsFromTheBeginning) {
  const Runs runs;
  const std::vector<std::string> constant = {"--set", "optimizer.schedule=\"constant\""};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), constant.begin(), constant.end());
    return flags;
  };
  runs.MustTrain("long", with({"--set", "run.steps=9"}));
  runs.MustTrain("extended", with({}));
  runs.MustTrain("extended", with({"--set", "run.steps=9", "--resume"}));
  EXPECT_EQ(Contents(runs.File("extended")), Contents(runs.File("long")));
  EXPECT_TRUE(std::filesystem::exists(runs.Path("extended") + "/model.until-6/config.json"));
}

TEST(ResumeTest, AnExtendedRunStoresItsEarlierEndsIfTheLearningRateDependsOnThem) {
  const Runs runs;
  runs.MustTrain("extended");
  runs.MustTrain("extended", {"--set", "run.steps=8", "--resume"});
  runs.MustTrain("extended", {"--set", "run.steps=9", "--resume"});
  runs.MustTrain("extended", {"--set", "run.steps=9", "--resume"});  // nothing more to do
  runs.MustTrain("at-once", {"--set", "run.steps=9", "--set", "run.extended_at=\"6 8\""});
  EXPECT_EQ(Contents(runs.File("extended")), Contents(runs.File("at-once")));
  EXPECT_EQ(RunForJson("reproduce", {runs.File("extended")}, 0)["steps_checked"], 11);
}

TEST(ResumeTest, AnotherConfigurationIsRejectedWithEveryKeyThatDiffers) {
  const Runs runs;
  runs.MustTrain("a", {"--stop-after-step", "2"});
  const ProcessResult result = runs.Train(
      "a", {"--resume", "--set", "run.seed=9", "--set", "rollout.temperature=0.5", "--set", "execution.threads=2"});
  EXPECT_THAT(
      result,
      FailsWith("train", 64,
                runs.Path("a") +
                    " contains another run: rollout.temperature is 1.0 there and 0.5 here; run.seed is 1 there "
                    "and 9 here. Use the settings that it was started with, or start a new run in another directory, "
                    "where "
                    "--init-from " +
                    runs.Path("a") + " starts from the weights of this one"));
  EXPECT_EQ(runs.Train("a", {"--resume", "--set", "run.steps=7"}).exit_code, 64) << "the run has not ended yet";
  EXPECT_EQ(runs.Train("a", {"--resume", "--set", "run.steps=5"}).exit_code, 64);
  runs.MustTrain("a", {"--resume"});
  EXPECT_EQ(runs.Train("a", {"--resume", "--set", "run.steps=5"}).exit_code, 64) << "a run cannot be shortened";
}

TEST(ResumeTest, ARunWithoutStepsIsExtended) {
  const Runs runs;
  const auto with_steps = [](const std::string& steps, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> all = {"--set", "sft.steps=0", "--set", "run.steps=" + steps};
    all.insert(all.end(), flags.begin(), flags.end());
    return all;
  };
  runs.MustTrain("at_once", with_steps("2"));
  runs.MustTrain("a", with_steps("0"));
  runs.MustTrain("a", with_steps("2", {"--resume"}));
  EXPECT_EQ(Contents(runs.File("a")), Contents(runs.File("at_once")));
}

TEST(ResumeTest, ADirectoryWithoutARunIsRejected) {
  const Runs runs;
  EXPECT_THAT(runs.Train("none", {"--resume"}),
              FailsWith("train", 64,
                        runs.Path("none") + " contains no run to resume; without --resume a new one is started there"));
}

// Without --resume, train refuses this directory because of its files: so the message must not advise to omit --resume.
TEST(ResumeTest, ADirectoryWithOnlyLeftoversOfARunIsRejected) {
  const Runs runs;
  std::filesystem::create_directories(runs.Path("left") + "/states");
  EXPECT_THAT(runs.Train("left", {"--resume"}),
              FailsWith("train", 64,
                        runs.Path("left") + " contains no run to resume, but files of one: start again in another "
                                            "directory, or remove it"));
}

TEST(ResumeTest, AStateThatIsNoFileIsSkipped) {
  const Runs runs;
  runs.MustTrain("whole");
  const std::pair<std::string, std::string> reasons[] = {
      {"pipe", "00000006.h5: it is not a regular file but a pipe"},
      {"directory", "00000006.h5 is a directory; expected a file"},
      {"nowhere", "00000006.h5: it is a symbolic link to nowhere, which does not exist"},
      {"00000006.h5", "00000006.h5: Too many levels of symbolic links; links lead in a circle"}};
  for (const auto& [kind, reason] : reasons) {
    runs.MustTrain(kind, {"--stop-after-step", "4"});
    const std::string state = runs.Path(kind) + "/states/00000006.h5";
    std::filesystem::remove(state);
    const bool is_link = kind != "pipe" && kind != "directory";
    ASSERT_TRUE(kind != "pipe" || mkfifo(state.c_str(), 0600) == 0);
    if (kind == "directory") std::filesystem::create_directory(state);
    if (is_link) std::filesystem::create_symlink(kind, state);
    const ProcessResult result = runs.Train(kind, {"--resume"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr(reason), HasSubstr("an older state")));
    EXPECT_EQ(Contents(runs.File(kind)), Contents(runs.File("whole")));
    EXPECT_EQ(std::filesystem::is_symlink(state), is_link) << "it is somebody's, and stays";
  }
}

TEST(ResumeTest, AFileThatOnlyHasTheNameOfALaterStateIsSkipped) {
  const Runs runs;
  runs.MustTrain("whole");
  runs.MustTrain("a", {"--stop-after-step", "4"});
  WriteFile(runs.Path("a") + "/states", "99999999.h5", "notes");
  const ProcessResult result = runs.Train("a", {"--resume"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("states/99999999.h5: it is not a run file"), HasSubstr("an older state")));
  EXPECT_EQ(Contents(runs.File("a")), Contents(runs.File("whole")));
  EXPECT_EQ(Contents(runs.Path("a") + "/states/99999999.h5"), "notes");
}

TEST(ResumeTest, WithoutAReadableStateTheRunIsExecutedAgain) {
  const Runs runs;
  runs.MustTrain("whole");
  runs.MustTrain("a", {"--stop-after-step", "4"});
  for (const char* const name : {"00000003.h5", "00000006.h5"}) {
    std::filesystem::remove(runs.Path("a") + "/states/" + name);
    WriteFile(runs.Path("a") + "/states", name, "notes");
  }
  const ProcessResult result = runs.Train("a", {"--resume"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("states/00000003.h5"), HasSubstr("states/00000006.h5"),
                                HasSubstr("no other state is left: executing the run again from its first step")));
  EXPECT_EQ(Contents(runs.File("a")), Contents(runs.File("whole")));
}

TEST(ResumeTest, AStateWithoutItsCommittedStepsIsAnError) {
  const Runs runs;
  const std::string run = runs.Path("a");
  runs.MustTrain("a", {"--stop-after-step", "4"});
  // As if the run had been killed and its journal and segments had been removed.
  std::filesystem::remove(runs.File("a"));
  std::filesystem::create_directory(run + "/epochs");
  WriteFile(run + "/epochs", "E0001", "claimed\n");
  EXPECT_THAT(runs.Train("a", {"--resume"}),
              FailsWith("train", 65,
                        run +
                            ": there is a state of step 6, but only 0 steps are committed: segments and journals "
                            "are lost; restore them, or move " +
                            run + "/states away to train the missing steps again"));
  EXPECT_EQ(FilesIn(run + "/states"), 2);
}

TEST(ResumeTest, ACorruptedStateIsSkipped) {
  const Runs runs;
  runs.MustTrain("whole");
  runs.MustTrain("a", {"--stop-after-step", "4"});
  const std::string states = runs.Path("a") + "/states";
  ASSERT_EQ(FilesIn(states), 2);  // of steps 3 and 6, numbered as in the artifact
  std::filesystem::permissions(states + "/00000006.h5", std::filesystem::perms::owner_all);
  std::fstream(states + "/00000006.h5", std::ios::in | std::ios::out).seekp(5000).put('x');
  std::vector<std::string> flags = {"--resume"};
  const ProcessResult result = runs.Train("a", flags);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("warning: "), HasSubstr("00000006.h5"), HasSubstr("an older state")));
  EXPECT_EQ(Contents(runs.File("a")), Contents(runs.File("whole")));
}

TEST(ResumeTest, TheOutputMayEndWithSlashesAndMustNotBeEmpty) {
  const Runs runs;
  runs.MustTrain("whole");
  runs.MustTrain("a/", {"--stop-after-step", "2"});
  runs.MustTrain("a//", {"--resume"});
  EXPECT_EQ(Contents(runs.File("a")), Contents(runs.File("whole")));
  EXPECT_THAT(RunVerb("train", {"run.toml", "--output", ""}).err, HasSubstr("--output has an empty value"));
}

TEST(ResumeTest, ARunThatAlreadyHasTheRequestedStepsIsNotChanged) {
  const Runs runs;
  runs.MustTrain("whole");
  runs.MustTrain("a", {"--stop-after-step", "4"});
  const std::string stopped = Contents(runs.File("a"));
  for (const char* stop : {"4", "4", "2"}) runs.MustTrain("a", {"--resume", "--stop-after-step", stop});
  EXPECT_EQ(runs.Train("a", {"--resume", "--stop-after-step", "4"}).err, "");
  EXPECT_EQ(
      runs.Train("a", {"--resume", "--stop-after-step", "2"}).err,
      "warning: --stop-after-step 2: the run has step 4 already, and no step is taken back, so that none is made; "
      "a later step, or none, continues the run\n");
  EXPECT_EQ(Contents(runs.File("a")), stopped);
  EXPECT_FALSE(std::filesystem::exists(runs.Path("a") + "/run.until-4.h5"));
  runs.MustTrain("a", {"--resume", "--stop-after-step", "5"});
  runs.MustTrain("a", {"--resume"});
  EXPECT_EQ(Contents(runs.File("a")), Contents(runs.File("whole")));
}

TEST(ResumeTest, ARunThatWasKilledWhileItRenamedTheOldModelCanBeExtended) {
  const Runs runs;
  runs.MustTrain("at-once", {"--set", "run.steps=8", "--set", "run.extended_at=\"6\""});
  runs.MustTrain("a");
  std::filesystem::rename(runs.Path("a") + "/model", runs.Path("a") + "/model.until-6");
  runs.MustTrain("a", {"--resume"});  // exports the model again
  runs.MustTrain("a", {"--resume", "--set", "run.steps=8"});
  EXPECT_EQ(Contents(runs.File("a")), Contents(runs.File("at-once")));
  EXPECT_TRUE(std::filesystem::exists(runs.Path("a") + "/run.until-6.2.h5"));
}

TEST(ResumeTest, FilesOfTheUserAreKept) {
  const Runs runs;
  runs.MustTrain("a");
  const std::string model = runs.Path("a") + "/model";
  std::filesystem::remove(model + "/config.json");
  WriteFile(model, "notes.txt", "of the user");
  std::filesystem::create_directory(model + "/more");
  runs.MustTrain("a", {"--resume"});
  EXPECT_EQ(Contents(model + "/notes.txt"), "of the user");
  EXPECT_TRUE(std::filesystem::exists(model + "/config.json"));

  std::filesystem::create_directories(runs.Path("b"));
  WriteFile(runs.Path("b"), "journal.E0001", "of the user");
  EXPECT_EQ(runs.Train("b", {}).exit_code, 64);
  EXPECT_EQ(Contents(runs.Path("b") + "/journal.E0001"), "of the user");
}

TEST(ResumeTest, ARunWithOnlyASftIsResumedAndExtended) {
  const Runs runs;
  const ProcessResult first = runs.Train("a", {"--set", "run.steps=0"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  std::filesystem::remove_all(runs.Path("a") + "/model");
  EXPECT_EQ(runs.Train("a", {"--set", "run.steps=0", "--resume"}).out, first.out);
  runs.MustTrain("a", {"--resume"});
  runs.MustTrain("whole");
  EXPECT_EQ(Contents(runs.File("a")), Contents(runs.File("whole")));
}

// Starts a run with more steps than any test waits for.
StartedProcess StartLongRun(const std::string& output, const std::vector<std::string>& overrides) {
  std::vector<std::string> arguments = {
      "pipelines/train", WriteFile(MakeDirectory(), "long.toml", kTinyRun), "--output", output, "--quiet", "--set",
      "run.steps=100000"};
  for (const std::string& override : overrides) arguments.insert(arguments.end(), {"--set", override});
  return StartProcess(arguments, {});
}

// Waits until the file contains `text`.
void WaitForText(const std::string& path, const std::string& text) {
  while (!std::filesystem::exists(path) || Contents(path).find(text) == std::string::npos) usleep(1000);
}

TEST(InterruptTest, TheFirstCtrlCPrintsAMessageAndTheSecondStopsAtOnce) {
  const std::string output = MakeDirectory() + "/run";
  const StartedProcess process = StartLongRun(output, {"rollout.prompts_per_step=4096", "rollout.num_generations=32"});
  WaitForText(output + "/execution.jsonl", "start");
  kill(process.pid, SIGINT);
  WaitForText(process.err, "finishing the current step; press Ctrl-C again to stop at once");
  kill(process.pid, SIGINT);
  EXPECT_EQ(WaitFor(process).exit_code, 128 + SIGINT);
}

TEST(UnfinishedRunTest, IsInspectedAndExportedWhileItTrains) {
  const std::string directory = MakeDirectory(), output = directory + "/run";
  const StartedProcess process = StartLongRun(output, {"execution.commit_every=1", "execution.save_every=2"});
  WaitForText(output + "/metrics.jsonl", "\"step\":5");
  const ProcessResult shown = RunVerb("inspect", {output});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("unfinished        what follows is of the "), HasSubstr("\nlast steps\n"),
                               HasSubstr("\nsamples of training step ")));
  EXPECT_EQ(RunForJson("inspect", {output}, 0)["unfinished"], true);
  EXPECT_EQ(RunForJson("inspect", {output, "--step", "2"}, 0)["step"], 2);
  const nlohmann::json exported = RunForJson("export", {output, "--output", directory + "/model"}, 0);
  EXPECT_GE(exported["step"].get<int>(), 2);
  EXPECT_TRUE(std::filesystem::exists(directory + "/model/config.json"));
  EXPECT_GE(RunForJson("evaluate", {output, "--samples", "0"}, 0)["step"].get<int>(), 2);
  // The training was not affected.
  kill(process.pid, SIGINT);
  const ProcessResult ended = WaitFor(process);
  EXPECT_EQ(ended.exit_code, 75) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("the same command with --resume continues it"));
  EXPECT_THAT(RunVerb("inspect", {output}).out, HasSubstr("unfinished"));
}

TEST(UnfinishedRunTest, ItsStatesContainWeights) {
  const std::string directory = MakeDirectory(), output = directory + "/run";
  const StartedProcess process = StartLongRun(output, {"execution.save_every=2", "artifact.checkpoint_every=0"});
  WaitForText(output + "/metrics.jsonl", "\"step\":5");
  kill(process.pid, SIGINT);
  ASSERT_EQ(WaitFor(process).exit_code, 75);
  const nlohmann::json exported = RunForJson("export", {output, "--output", directory + "/newest"}, 0);
  const std::string newest = std::to_string(exported["step"].get<int>());
  EXPECT_EQ(RunForJson("export", {output, "--step", newest, "--output", directory + "/same"}, 0)["weights_sha256"],
            exported["weights_sha256"]);
  EXPECT_EQ(RunForJson("evaluate", {output, "--samples", "0"}, 0)["step"], exported["step"]);
  EXPECT_EQ(RunForJson("evaluate", {output, "--samples", "0", "--step", newest}, 0)["step"], exported["step"]);
  const ProcessResult begun = RunVerb("train", {WriteFile(directory, "tiny.toml", kTinyRun), "--output",
                                                directory + "/begun", "--init-from", output, "--quiet"});
  EXPECT_EQ(begun.exit_code, 0) << begun.err;
  const ProcessResult first = RunVerb("export", {output, "--step", "1", "--output", directory + "/first"});
  EXPECT_EQ(first.exit_code, 64);
  EXPECT_THAT(first.err,
              AllOf(HasSubstr("the run holds no checkpoint yet: its states keep the newest weights, of step"),
                    HasSubstr(newest + "; artifact.checkpoint_every stores those of chosen steps")));
}

TEST(UnfinishedRunTest, IsReproducedAsFarAsItsSft) {
  const std::string output = MakeDirectory() + "/run";
  const StartedProcess process =
      StartLongRun(output, {"execution.commit_every=1", "sft.steps=100000", "sft.prompts_per_step=2"});
  WaitForText(output + "/metrics.jsonl", "\"step\":3");
  kill(process.pid, SIGINT);
  ASSERT_EQ(WaitFor(process).exit_code, 75);
  for (const char* mode : {"replay", "regenerate"}) {
    const ProcessResult reproduced = RunVerb("reproduce", {output, "--mode", mode});
    EXPECT_EQ(reproduced.exit_code, 0) << reproduced.err;
    EXPECT_THAT(reproduced.out, AllOf(HasSubstr("PASS: "), HasSubstr(" steps agree bit for bit")));
  }
}

TEST(RunFolderTest, InspectListsTheRunsWithin) {
  const Runs runs;
  runs.MustTrain("a");
  runs.MustTrain("b", {"--stop-after-step", "2"});
  std::filesystem::create_directories(runs.Path("x\n\x1b[2J/epochs"));
  std::filesystem::create_directories(runs.Path("notes"));
  std::filesystem::create_directories(runs.Path("grid"));
  std::ofstream(runs.Path("grid/plan.json")) << "{}";
  const std::string folder = std::filesystem::path(runs.Path("a")).parent_path().string();
  const ProcessResult listed = RunVerb("inspect", {folder});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  const std::string place = folder + "/";
  EXPECT_EQ(listed.out, folder + " is no run, but has these within:\n  finished    " + place + "a\n  finished    " +
                            place + "b\n  sweep       " + place + "grid\n  unfinished  " + place +
                            "x\\n\\x1b[2J\n./reprise inspect " + place + "a shows the first\n");
  const std::vector<nlohmann::json> lines = JsonLines(RunVerb("inspect", {folder, "--json"}).out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], (nlohmann::json{{"event", "run"}, {"path", place + "a"}, {"state", "finished"}}));
  EXPECT_THAT(RunVerb("inspect", {folder, "--step", "1"}),
              FailsWith("inspect", 64,
                        folder + " contains no run: neither run.h5 nor an unfinished run, but it has some within: " +
                            place + "a"));
}

TEST(UnfinishedRunTest, ADirectoryWithoutARunIsReported) {
  const std::string directory = MakeDirectory();
  EXPECT_THAT(RunVerb("evaluate", {directory}),
              FailsWith("evaluate", 64,
                        directory + " contains neither a run (run.h5 or an unfinished one) nor a model (config.json, "
                                    "model.safetensors)"));
  EXPECT_THAT(RunVerb("inspect", {directory}),
              FailsWith("inspect", 64, directory + " contains no run: neither run.h5 nor an unfinished run"));
}

}  // namespace
}  // namespace reprise::testing
