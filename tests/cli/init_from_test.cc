// train --init-from: a run that starts from the weights of another.

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

// A run with checkpoints of its steps 1 and 2.
const std::string& First() {
  static const std::string& file = *new std::string(TrainTinyRun() + "/run.h5");
  return file;
}

ProcessResult TrainFrom(const std::string& place, const std::string& output,
                        const std::vector<std::string>& more = {}) {
  const std::string config = WriteFile(MakeDirectory(), "tiny.toml", kTinyRun);
  std::vector<std::string> arguments = {config, "--output", output, "--init-from", place, "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunVerb("train", arguments);
}

TEST(InitFromTest, TheWeightsArePartOfTheRunButTheirPathIsNot) {
  const std::string directory = MakeDirectory(), copy = WriteFile(MakeDirectory(), "copy@2", Contents(First()));
  ASSERT_EQ(TrainFrom(First(), directory + "/a").exit_code, 0);
  ASSERT_EQ(TrainFrom(First() + "@2", directory + "/b").exit_code, 0);
  ASSERT_EQ(TrainFrom(copy, directory + "/c").exit_code, 0);
  ASSERT_EQ(TrainFrom(First() + "@1", directory + "/d").exit_code, 0);
  const std::string a = Contents(directory + "/a/run.h5");
  EXPECT_EQ(Contents(directory + "/b/run.h5"), a);
  EXPECT_EQ(Contents(directory + "/c/run.h5"), a);
  EXPECT_NE(Contents(directory + "/d/run.h5"), a);
  EXPECT_NE(Contents(First()), a);
}

TEST(InitFromTest, ItIsReproducedAndResumedWithTheSameWeights) {
  const std::string directory = MakeDirectory();
  ASSERT_EQ(TrainFrom(First(), directory + "/a").exit_code, 0);
  const std::string run = directory + "/a/run.h5";
  EXPECT_EQ(RunForJson("reproduce", {run, "--init-from", First()}, 0)["pass"], true);
  for (const std::vector<std::string>& flags : {std::vector<std::string>{}, {"--init-from", First() + "@1"}}) {
    std::vector<std::string> arguments = {run};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ProcessResult result = RunVerb("reproduce", arguments);
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_THAT(result.err, HasSubstr("give the run that they come from: --init-from RUN.h5 or RUN.h5@STEP"));
  }
  EXPECT_EQ(RunVerb("reproduce", {First(), "--init-from", First()}).exit_code, 64);
  EXPECT_EQ(RunVerb("export", {run, "--output", directory + "/model"}).exit_code, 0);

  ASSERT_EQ(TrainFrom(First(), directory + "/b", {"--stop-after-step", "1"}).exit_code, 0);
  EXPECT_THAT(TrainFrom(First() + "@1", directory + "/b", {"--resume"}).err, HasSubstr("init/weights is sha256:"));
  ASSERT_EQ(TrainFrom(First(), directory + "/b", {"--resume"}).exit_code, 0);
  EXPECT_EQ(Contents(directory + "/b/run.h5"), Contents(run));
}

TEST(InitFromTest, UnusableWeightsAreRejected) {
  const std::string output = MakeDirectory() + "/run";
  EXPECT_THAT(TrainFrom(First() + "@3", output),
              FailsWith("train", 64,
                        "--init-from " + First() +
                            "@3: the run holds no checkpoint of step 3, only of steps 1, 2; artifact.checkpoint_every "
                            "keeps more of them"));
  EXPECT_THAT(TrainFrom(First() + "@last", output),
              FailsWith("train", 64,
                        "--init-from " + First() +
                            "@last: the text after @ is not a training step; write RUN.h5 or RUN.h5@STEP"));
  const ProcessResult other = TrainFrom(First(), output, {"--set", "model.hidden_size=32"});
  EXPECT_EQ(other.exit_code, 64);
  EXPECT_THAT(other.err, HasSubstr("give this run the model of that one"));
  EXPECT_EQ(TrainFrom(First() + ".not", output).exit_code, 64);
}

TEST(InitFromTest, AModelDirectoryIsNamedAsThePathOfTheModel) {
  const std::string model = std::filesystem::path(First()).parent_path().string() + "/model",
                    output = MakeDirectory() + "/run";
  EXPECT_THAT(TrainFrom(model, output),
              FailsWith("train", 64,
                        "--init-from " + model + ": this is a model directory, and no run: --set model.path=" + model +
                            " starts from its weights"));
  const ProcessResult as_told = RunVerb(
      "train", {WriteFile(MakeDirectory(), "run.toml", kTinyRun), "--output", output, "--set", "model.path=" + model});
  EXPECT_EQ(as_told.exit_code, 0) << as_told.err;
}

// A run that ends with its SFT phase has no step of training whose weights it could keep.
TEST(InitFromTest, ARunWithoutStepsOfTrainingSaysWhereItsModelIs) {
  const std::string directory = TrainTinyRun({"run.steps=0", "sft.steps=1"}), run = directory + "/run.h5";
  const std::string expected =
      "the run holds no checkpoint: run.steps is 0, and only steps of training store them; the language model after "
      "an SFT phase is in model/ of the run's folder";
  EXPECT_TRUE(std::filesystem::exists(directory + "/model/config.json"));
  EXPECT_THAT(RunVerb("evaluate", {run}).err, HasSubstr(expected));
  EXPECT_THAT(RunVerb("export", {run, "--output", MakeDirectory() + "/model"}).err, HasSubstr(expected));
  EXPECT_THAT(TrainFrom(run, MakeDirectory() + "/run").err, HasSubstr(expected));
}

TEST(InitFromTest, ProblemsThatTheOtherRunWasTrainedOnGiveAWarning) {
  std::string lines;
  for (int i = 10; i < 30; ++i)
    lines += R"({"prompt": ")" + std::to_string(i) +
             R"(=", "answer": "1"})"
             "\n";
  const std::string data = "data.path=\"" + WriteFile(MakeDirectory(), "all.jsonl", lines) + "\"";
  const std::string share = "evaluation.held_out_share=0.25";
  const std::string whole = TrainTinyRun({data, "run.steps=3"}) + "/run.h5";
  const std::string split = TrainTinyRun({data, "run.steps=3", share}) + "/run.h5";
  const std::string unknown =
      "the run started from another run's weights: whether that one was trained on them is unknown";
  const auto reported = [&](const std::string& place) {
    const std::string output = MakeDirectory() + "/run";
    const ProcessResult result = TrainFrom(place, output, {"--set", data, "--set", share});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const std::string file = data.substr(11, data.size() - 12), model = MakeDirectory() + "/model";
    RunForJson("export", {output + "/run.h5", "--output", model}, 0);
    for (const std::string& target : {output, output + "/model", model}) {
      const std::vector<std::string> flags = {target, "--data", file, "--samples", "0"};
      EXPECT_THAT(RunVerb("evaluate", flags).out, HasSubstr("5 problems, 0 samples of each, by the "));
      EXPECT_THAT(RunVerb("evaluate", flags).out, HasSubstr("\n  (" + unknown + ")\n"));
      const nlohmann::json line = RunForJson("evaluate", flags, 0);
      EXPECT_EQ(line["held_out"], false);
      EXPECT_EQ(line["remark"], unknown);
    }
    return result.err;
  };
  EXPECT_EQ(reported(whole),
            "warning: --init-from " + whole +
                ": that run was trained on the prompts of 5 of the 5 problems that this one evaluates, so "
                "they are held out of this run alone: hold the same problems out of both "
                "(evaluation.held_out_share, evaluation.split_seed), or give others (evaluation.path)\n");
  EXPECT_EQ(reported(split), "");
}

TEST(InitFromTest, TheProgressOfTrainingCallsNoProblemHeldOut) {
  const std::string config = WriteFile(MakeDirectory(), "tiny.toml", kTinyRun);
  const ProcessResult result = RunVerb(
      "train", {config, "--output", MakeDirectory() + "/run", "--init-from", First(), "--set", "evaluation.every=1",
                "--set", "evaluation.held_out_share=0.3", "--set", "execution.log_every=1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr(", evaluation's reward "));
  EXPECT_THAT(result.err, ::testing::Not(HasSubstr(", held-out reward ")));
}

TEST(InitFromTest, ADifferentModelOfTheSameShapesGivesAWarning) {
  const std::string output = MakeDirectory() + "/run";
  const ProcessResult other = TrainFrom(First(), output, {"--set", "model.rope_theta=500"});
  EXPECT_EQ(other.exit_code, 0);
  EXPECT_THAT(other.err, HasSubstr("warning: --init-from " + First() +
                                   ": that run has another model.rope_theta, so its weights have another meaning in "
                                   "this model\n"));
}

TEST(InitFromTest, ARepeatedSftIsReported) {
  const std::string config = WriteFile(MakeDirectory(), "tiny.toml", std::string(kTinyRun) + "[sft]\nsteps = 1\n");
  const ProcessResult result = RunVerb("train", {config, "--output", MakeDirectory() + "/run", "--init-from", First()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the SFT phase of 1 step is done on the weights of " + First() +
                                    " as well; --set sft.steps=0 skips it\n"));
}

}  // namespace
}  // namespace reprise::testing
