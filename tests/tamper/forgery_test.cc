// Promise: a run can be verified by executing it again. If a stored value was edited and every digest recomputed,
// `reproduce` names the step and the stage; impossible values are rejected and never crash it.

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/environments/outside.h"
#include "tests/programs/programs.h"
#include "tests/tamper/copy_run.h"
#include "tests/tamper/edits.h"

namespace reprise::testing {
namespace {

constexpr char kSmallRun[] = "tests/determinism/small.toml";
constexpr int kFail = 1, kDataLoss = 65;

const TrainedRun& Original() {
  static const auto* const run = new TrainedRun(Train(kSmallRun, {}, {}));
  return *run;
}

std::string Edited(const Edit& edit, const TrainedRun& original = Original()) {
  const std::string output = UniqueTemporaryPath() + ".h5";
  EXPECT_EQ(RunProcess({"tests/tamper/edit_run", original.file(), edit.name, output}, {}).exit_code, 0);
  return output;
}

// The place that the verdict must name: training step `step`, after `agreed` steps that agreed.
struct Place {
  int64_t step = kEditedStep, agreed = 2 + kEditedStep - 1;
};

// Expects the verdict to name the stage and the place; with an empty `stage`, expects a rejection of the file as
// corrupt.
void ExpectFound(const Verdict& verdict, const std::string& stage, const Place& place) {
  SCOPED_TRACE(verdict.process.out + verdict.process.err);
  if (stage.empty()) {
    EXPECT_EQ(verdict.process.exit_code, kDataLoss);
    EXPECT_FALSE(verdict.given);
    return;
  }
  EXPECT_EQ(verdict.process.exit_code, kFail);
  ASSERT_TRUE(verdict.first.has_value());
  EXPECT_FALSE(verdict.pass);
  EXPECT_EQ(verdict.first->phase, place.agreed < 2 ? "sft" : "training");
  EXPECT_EQ(verdict.first->step, place.step);
  EXPECT_EQ(verdict.first->stage, stage);
  EXPECT_EQ(verdict.steps_checked, place.agreed);
}

void ExpectFoundInBothModes(const Edit& edit, const Place& place = {}) {
  SCOPED_TRACE(edit.name);
  const std::string run = Edited(edit);
  ExpectFound(Reproduce(run, "replay", {}), edit.replay_stage, place);
  ExpectFound(Reproduce(run, "regenerate", {}), edit.regenerate_stage, place);
  std::filesystem::remove(run);
}

TEST(ForgeryTest, TheOriginalPassesInBothModes) {
  EXPECT_TRUE(Reproduce(Original().file(), "replay", {}).pass);
  EXPECT_TRUE(Reproduce(Original().file(), "regenerate", {}).pass);
}

TEST(ForgeryTest, EachEditedValueIsFoundAtItsStepAndStage) {
  for (const Edit& edit : PlausibleEdits()) ExpectFoundInBothModes(edit);
}

TEST(ForgeryTest, WeightsOutOfBoundsAreRejectedByEveryProgramThatReadsThem) {
  const std::vector<Edit> edits = CheckpointEdits();
  for (const auto& [name, value] : {std::pair<std::string, std::string>(kNotFinite, "nan"), {kTooGreat, "3e\\+38"}}) {
    const auto edit = std::find_if(edits.begin(), edits.end(), [&](const Edit& e) { return e.name == name; });
    const std::string run = Edited(*edit), output = UniqueTemporaryPath(), step = std::to_string(kEditedStep);
    const auto expect_refused = [&](const std::vector<std::string>& command) {
      const ProcessResult result = RunProcess(command, {});
      EXPECT_EQ(result.exit_code, kDataLoss) << command[0];
      EXPECT_THAT(result.err, ::testing::ContainsRegex("holds " + value +
                                                       " as element 1 of model\\.[a-z0-9_.]*, which is out of bounds"));
    };
    expect_refused({"pipelines/evaluate", run, "--step", step, "--samples", "0", "--set", "evaluation.num_prompts=2"});
    expect_refused({"pipelines/export", run, "--step", step, "--output", output});
    expect_refused({"pipelines/train", kSmallRun, "--output", output, "--init-from", run + "@" + step});
    expect_refused({"pipelines/reproduce", run, "--from-step", std::to_string(kEditedStep + 1)});
    EXPECT_FALSE(std::filesystem::exists(output));
  }
}

TEST(ForgeryTest, AnEditedOrMissingCheckpointIsFoundAfterItsStep) {
  for (const Edit& edit : CheckpointEdits()) ExpectFoundInBothModes(edit, {.agreed = 2 + kEditedStep});
}

// The run has as many steps of SFT as the small run, so that the same step is edited.
TEST(ForgeryTest, EditedRepliesOfAnExternalProcessAreFoundAtTheirFirstEffect) {
  const TrainedRun original = Train(kOutsideRun,
                                    {"sft.steps=2", "environment.max_tool_calls=1", "evaluation.every=1",
                                     "evaluation.num_prompts=5", "evaluation.num_generations=2"},
                                    {});
  EXPECT_TRUE(Reproduce(original.file(), "replay", {}).pass);
  for (const Edit& edit : OutsideEdits()) {
    SCOPED_TRACE(edit.name);
    const std::string run = Edited(edit, original);
    ExpectFound(Reproduce(run, "replay", {}), edit.replay_stage, {});
    ExpectFound(Reproduce(run, "regenerate", {}, GivingTheCommand()), edit.regenerate_stage, {});
    std::filesystem::remove(run);
  }
}

TEST(ForgeryTest, AnEditedConfigurationIsFoundAtItsFirstEffect) {
  ExpectFoundInBothModes(ConfigurationEdits().at(0), {.step = 1, .agreed = 0});
  ExpectFoundInBothModes(ConfigurationEdits().at(1), {.step = 1, .agreed = 2});
}

TEST(ForgeryTest, ImpossibleValuesAreRejected) {
  for (const Edit& edit : ImpossibleEdits()) ExpectFoundInBothModes(edit);
}

TEST(ForgeryTest, DataThatNothingIsComparedWithIsRejected) {
  for (const Edit& edit : Additions()) ExpectFoundInBothModes(edit);
}

constexpr char kGrowingRun[] = "tests/workloads/quick_morphogenesis.toml";

const TrainedRun& FindOriginal(const std::string& key) {
  static const auto* const grown =
      new TrainedRun(Train(kGrowingRun, {"morphogenesis.image_size=32", "morphogenesis.blocks=2", "run.steps=1"}, {}));
  return key.rfind("morphogenesis.", 0) == 0 ? *grown : Original();
}

// Returns the path of a copy of a run that reads the first key, with these lines of its configuration set.
std::string Configured(const std::vector<std::pair<std::string, std::string>>& lines) {
  const auto set_lines = [&](RunHeader& header) {
    std::string& text = header.config_text;
    for (const auto& [key, value] : lines) {
      const size_t begin = text.find(key + " = ");
      if (begin != std::string::npos) text.erase(begin, text.find('\n', begin) + 1 - begin);
      text += key + " = " + value + "\n";
    }
  };
  const std::string path = UniqueTemporaryPath() + ".h5";
  std::ofstream(path, std::ios::binary)
      << CopyRun(Contents(FindOriginal(lines[0].first).file()), {.header = set_lines}).value();
  return path;
}

std::string Configured(const std::string& key, const std::string& value) { return Configured({std::pair(key, value)}); }

// Opening a pipe would block, and an untrusted file must not choose the number of threads.
TEST(ForgeryTest, AStoredConfigurationCannotChooseFilesToOpenOrExecutionKeys) {
  const std::string pipe = UniqueTemporaryPath();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"data.path", "\"" + pipe + "\""},       {"data.path", "\"/dev/zero\""}, {"model.path", "\"/dev\""},
      {"evaluation.path", "\"" + pipe + "\""}, {"execution.threads", "512"},   {"execution.log_every", "1"},
      {"morphogenesis.data_path", "\"/dev\""}};
  for (const auto& [key, value] : lines) {
    SCOPED_TRACE(key + " = " + value);
    const std::string run = Configured(key, value);
    for (const std::string program : {"reproduce", "evaluate"}) {
      const ProcessResult result = RunProcess({"pipelines/" + program, run}, {}, /*limit_seconds=*/30);
      EXPECT_EQ(result.exit_code, kDataLoss) << program << ": " << result.err;
      EXPECT_NE(result.err.find("its configuration contains "), std::string::npos) << result.err;
      EXPECT_NE(result.err.find(key), std::string::npos) << result.err;
    }
    std::filesystem::remove(run);
  }
}

TEST(ForgeryTest, AStoredConfigurationWhoseKeysDoNotGoTogetherIsRejected) {
  const std::string run = Configured("rollout.num_generations", "1");
  for (const std::string program : {"reproduce", "evaluate"}) {
    const ProcessResult result = RunProcess({"pipelines/" + program, run}, {}, /*limit_seconds=*/30);
    EXPECT_EQ(result.exit_code, kDataLoss) << program << ": " << result.err;
    EXPECT_THAT(result.err, ::testing::HasSubstr(run + ": its configuration is invalid: rollout.num_generations"))
        << program;
  }
  std::filesystem::remove(run);
}

// A reproduction draws as many prompts as the configuration says. It must not begin before the rows agree: otherwise a
// small file takes any time and memory.
TEST(ForgeryTest, AStoredConfigurationThatMultipliesTheWorkIsRejectedBeforeIt) {
  const auto expect_refused = [](const std::string& run, const std::string& expected) {
    for (const std::string mode : {"replay", "regenerate"}) {
      const ProcessResult result = RunProcess({"pipelines/reproduce", run, "--mode", mode}, {}, /*limit_seconds=*/30);
      EXPECT_EQ(result.exit_code, kDataLoss) << mode << ": " << result.err;
      EXPECT_THAT(result.err, ::testing::HasSubstr(run + ": " + expected)) << mode;
    }
    std::filesystem::remove(run);
  };
  expect_refused(Configured("sft.prompts_per_step", "16777216"),
                 "SFT step 1: stream episodes has 21 rows of one step; its configuration's "
                 "sft.prompts_per_step 16777216 gives 16777216");
  expect_refused(Configured("rollout.prompts_per_step", "4194304"),
                 "training step 1: stream episodes has 76 rows of one step; its configuration's "
                 "rollout.prompts_per_step 4194304 with rollout.num_generations 4 gives 16777216");
  expect_refused(Configured("rollout.num_generations", "65536"),
                 "training step 1: stream episodes has 76 rows of one step; its configuration's "
                 "rollout.prompts_per_step 19 with rollout.num_generations 65536 gives 1245184");
}

// What a small file can make a program allocate is limited by its size: the tensors that it stores have shapes.
TEST(ForgeryTest, AStoredConfigurationOfAnotherModelIsRejectedBeforeTheModelIsMade) {
  const std::vector<std::vector<std::pair<std::string, std::string>>> cases = {
      {{"model.num_hidden_layers", "1024"}, {"model.num_experts", "200"}},
      {{"model.num_hidden_layers", "1024"}},
      {{"model.num_experts", "4096"}},
      {{"model.hidden_size", "32768"}},
      {{"model.intermediate_size", "16777216"}},
      {{"model.vocab_size", "128"}, {"model.tie_word_embeddings", "true"}}};
  for (const auto& lines : cases) {
    SCOPED_TRACE(lines[0].first + " = " + lines[0].second);
    const std::string run = Configured(lines), output = UniqueTemporaryPath();
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"pipelines/reproduce", run},
                                               {"pipelines/evaluate", run},
                                               {"pipelines/export", run, "--output", output}}) {
      const ProcessResult result = RunProcess(command, {}, /*limit_seconds=*/30);
      EXPECT_EQ(result.exit_code, kDataLoss) << command[0] << ": " << result.err;
      EXPECT_THAT(result.err, ::testing::HasSubstr(run + ": its configuration describes a model of ")) << command[0];
    }
    EXPECT_FALSE(std::filesystem::exists(output));
    std::filesystem::remove(run);
  }
}

// With another seed the run has other problems, which do not allow some of the actions that it stores.
TEST(ForgeryTest, AnActionThatItsProblemDoesNotAllowIsRejected) {
  const TrainedRun original = Train("tests/workloads/quick_bandit.toml", {"bandit.masked_share=0.5"}, {});
  const auto set_seed = [](RunHeader& header) {
    std::string& text = header.config_text;
    const size_t begin = text.find("run.seed = ");
    text.replace(begin, text.find('\n', begin) - begin, "run.seed = 987654");
  };
  const std::string run = UniqueTemporaryPath() + ".h5";
  std::ofstream(run, std::ios::binary) << CopyRun(Contents(original.file()), {.header = set_seed}).value();
  const ProcessResult result = RunProcess({"pipelines/reproduce", run}, {});
  EXPECT_EQ(result.exit_code, kDataLoss) << result.err;
  EXPECT_THAT(result.err, ::testing::HasSubstr("which its problem does not allow"));
  std::filesystem::remove(run);
}

// The first step of training would be drawn before its record is missed.
TEST(ForgeryTest, AFinishedRunWithoutStepsOfTrainingIsRejected) {
  const CopyEdits edits = {.steps = [](std::vector<StoredStep>& steps) { steps.resize(2); },
                           .checkpoint = [](int64_t, absl::string_view, auto&) { return false; }};
  const std::string run = UniqueTemporaryPath() + ".h5";
  std::ofstream(run, std::ios::binary) << CopyRun(Contents(Original().file()), edits).value();
  for (const std::string mode : {"replay", "regenerate"}) {
    const ProcessResult result = RunProcess({"pipelines/reproduce", run, "--mode", mode}, {}, /*limit_seconds=*/30);
    EXPECT_EQ(result.exit_code, kDataLoss) << mode << ": " << result.err;
    EXPECT_THAT(result.err, ::testing::HasSubstr("it is a finished run without any of the 3 steps of training in its "
                                                 "configuration"))
        << mode;
  }
  std::filesystem::remove(run);
}

// Without a stored digest, a different file could not be distinguished from the one that the run read.
TEST(ForgeryTest, AnExternalFileWithoutAStoredDigestIsRejected) {
  for (const std::string key : {"data.path", "model.path", "evaluation.path", "morphogenesis.data_path"}) {
    const std::string run = Configured(key, "\"external\"");
    for (const std::string program : {"reproduce", "evaluate", "export"}) {
      std::vector<std::string> command = {"pipelines/" + program, run};
      if (program == "export") command.insert(command.end(), {"--output", UniqueTemporaryPath()});
      const ProcessResult result = RunProcess(command, {}, /*limit_seconds=*/30);
      EXPECT_EQ(result.exit_code, kDataLoss) << program << ": " << result.err;
      EXPECT_NE(result.err.find(" refers to a file in " + key + " whose digest is not stored"), std::string::npos)
          << result.err;
    }
    std::filesystem::remove(run);
  }
}

TEST(ForgeryTest, SeveralRanksFindTheSame) {
  const Verdict forged = Reproduce(Edited(PlausibleEdits().at(0)), "replay", {.ranks = 3});
  ExpectFound(forged, PlausibleEdits().at(0).replay_stage, {});
  for (const Edit& edit : {ImpossibleEdits().at(0), ImpossibleEdits().at(6)}) {
    SCOPED_TRACE(edit.name);
    ExpectFound(Reproduce(Edited(edit), "replay", {.ranks = 3}), edit.replay_stage, {});
  }
  for (const Edit& edit : Additions()) {
    if (edit.name != "extra_checkpoint") continue;
    ExpectFound(Reproduce(Edited(edit), "replay", {.ranks = 3}), edit.replay_stage, {});
  }
}

TEST(ForgeryTest, ACopyWithoutEditsHasTheSameBytes) {
  const std::string bytes = Contents(Original().file());
  EXPECT_EQ(CopyRun(bytes, {}).value(), bytes);
}

}  // namespace
}  // namespace reprise::testing
