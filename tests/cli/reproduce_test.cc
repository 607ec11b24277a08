// reproduce executes a run with any keys of [execution], and as far as the run goes.

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string& TinyFile() {
  static const std::string& file = *new std::string(TrainTinyRun() + "/run.h5");
  return file;
}

TEST(ReproduceTest, KeysOfExecutionMayBeSet) {
  for (const char* mode : {"replay", "regenerate"}) {
    const nlohmann::json verdict = RunForJson(
        "reproduce",
        {TinyFile(), "--mode", mode, "--set", "execution.micro_batch_tokens=8", "--set", "execution.decode_slots=3",
         "--set", "execution.activation_checkpointing=true", "--set", "execution.threads=2"},
        0);
    EXPECT_EQ(verdict["pass"], true);
    EXPECT_EQ(verdict["steps_checked"], 2);
  }
}

TEST(ReproduceTest, KeysOfExecutionTakeEffect) {
  const auto progress_lines = [](const std::string& every) {
    const ProcessResult result = RunVerb("reproduce", {TinyFile(), "--set", "execution.log_every=" + every});
    EXPECT_EQ(result.exit_code, 0);
    return std::count(result.err.begin(), result.err.end(), '\n');
  };
  EXPECT_GT(progress_lines("1"), progress_lines("2"));
}

TEST(ReproduceTest, AFlagForAFileThatTheRunDidNotReadIsRejected) {
  const std::vector<std::pair<std::string, std::string>> flags = {
      {"--model", "model directory"}, {"--data", "file of problems"}, {"--held-out", "file of held-out problems"}};
  for (const auto& [flag, what] : flags) {
    EXPECT_THAT(RunVerb("reproduce", {TinyFile(), flag, "some"}),
                FailsWith("reproduce", 64, flag + " some: the run read no " + what + ": remove " + flag));
  }
  EXPECT_THAT(RunVerb("evaluate", {TinyFile(), "--data", "some"}),
              FailsWith("evaluate", 64, "--data some: the run read no file of problems: remove --data"));
}

TEST(ReproduceTest, OtherKeysAreRejected) {
  for (const std::string set : {"rollout.temperature=0.5", "run.steps=1", "threads=2"}) {
    EXPECT_THAT(RunVerb("reproduce", {TinyFile(), "--set", set}),
                FailsWith("reproduce", 64,
                          "--set " + set + ": only keys of [execution] may be set; all others are fixed by the run"));
  }
  EXPECT_THAT(RunVerb("reproduce", {TinyFile(), "--set", "execution.thread=2"}),
              FailsWith("reproduce", 64,
                        "--set execution.thread=2: unknown key execution.thread; did you mean execution.threads?"));
  EXPECT_THAT(RunVerb("reproduce", {TinyFile(), "--set", "nonsense"}),
              FailsWith("reproduce", 64, "--set nonsense: expected section.key=value"));
}

TEST(ReproduceTest, ARunThatWasStoppedEarlyPasses) {
  const std::string directory = MakeDirectory();
  const std::string config = WriteFile(directory, "tiny.toml", kTinyRun);
  EXPECT_EQ(RunVerb("train", {config, "--output", directory + "/run", "--stop-after-step", "1", "--quiet"}).exit_code,
            0);
  const nlohmann::json verdict = RunForJson("reproduce", {directory + "/run/run.h5"}, 0);
  EXPECT_EQ(verdict["pass"], true);
  EXPECT_EQ(verdict["steps_checked"], 1);
}

TEST(ReproduceTest, APartOfARunStartsFromTheCheckpointBeforeIt) {
  const std::string file =
      TrainTinyRun({"run.steps=6", "sft.steps=2", "artifact.checkpoint_every=2", "sft.prompts_per_step=4"}) + "/run.h5";
  const auto check = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), file);
    const nlohmann::json verdict = RunForJson("reproduce", flags, 0);
    EXPECT_EQ(verdict["pass"], true);
    return verdict["steps_checked"].get<int>();
  };
  EXPECT_EQ(check({"--from-step", "1"}), 8);
  EXPECT_EQ(check({"--from-step", "5"}), 2);
  EXPECT_EQ(check({"--from-step", "4", "--steps", "1"}), 1);
  EXPECT_EQ(check({"--from-step", "5", "--steps", "1"}), 1);
  EXPECT_EQ(check({"--steps", "3"}), 5);
  EXPECT_EQ(check({"--from-step", "6", "--steps", "9", "--mode", "regenerate"}), 1);
  EXPECT_THAT(RunVerb("reproduce", {file, "--from-step", "5", "--steps", "99"}).err,
              HasSubstr("--steps 99: from step 5 on the run has 2 training steps, which are checked"));
  EXPECT_EQ(RunVerb("reproduce", {file, "--from-step", "5", "--steps", "2"}).err.find("--steps"), std::string::npos);
  EXPECT_EQ(RunVerb("reproduce", {file, "--from-step", "4"}).err.find("starting from the checkpoint of step 2"), 0u);
  EXPECT_EQ(
      RunVerb("reproduce", {file, "--from-step", "2"})
          .err.find("the run has no checkpoint before step 2 (artifact.checkpoint_every = 2): every step before step "
                    "2 is executed as well; train with --set artifact.checkpoint_every=N for"),
      0u);
  for (const char* step : {"2", "4"}) {  // what is said is said once, by the ranks that do it
    EXPECT_EQ(RunVerb("reproduce", {file, "--from-step", step, "--check", "--ranks-to-start", "2"}).err, "");
  }
  EXPECT_THAT(RunVerb("reproduce", {file, "--from-step", "7"}),
              FailsWith("reproduce", 64, "--from-step 7: the run's last training step is 6"));
}

// The run has no such step, so that the reproduction ends before its work.
TEST(ReproduceTest, ARunWithEvaluationsOfManyProblemsSaysSoBeforeItBegins) {
  const auto told = [](const std::string& every, const std::string& problems) {
    const std::string directory = TrainTinyRun(
        {"evaluation.every=" + every, "evaluation.num_prompts=" + problems, "evaluation.num_generations=1"});
    return RunVerb("reproduce", {directory + "/run.h5", "--from-step", "99"}).err;
  };
  EXPECT_THAT(told("100", "50000"), HasSubstr("an evaluation has up to 50000 problems, and 1 samples of each"));
  EXPECT_THAT(told("100", "49999"), Not(HasSubstr("an evaluation has up to")));
  EXPECT_THAT(told("0", "50000"), Not(HasSubstr("an evaluation has up to")));
}

TEST(ReproduceTest, APartOfARunNeedsTheReferenceModelThatTheSftTrains) {
  const auto begin = [](const std::string& sft) {
    const std::string file = TrainTinyRun({"sft.steps=" + sft, "algorithm.beta=0.1"}) + "/run.h5";
    const ProcessResult result = RunVerb("reproduce", {file, "--from-step", "2"});
    EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
    return result.err.substr(0, result.err.find('\n'));
  };
  EXPECT_EQ(begin("0"), "starting from the checkpoint of step 1");
  EXPECT_EQ(begin("1"),
            "a checkpoint of this run lacks what later steps need, such as the reference model, the best evaluation or "
            "the state of a schedule: every step before step 2 is executed as well");
}

}  // namespace
}  // namespace reprise::testing
