// Runs whose problems come from a file: the run stores the file's digest but not the file, which reproduce needs again.

#include <sys/stat.h>

#include <filesystem>

#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

std::string Problems(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    lines += nlohmann::json({{"prompt", std::to_string(i) + "+1="}, {"answer", std::to_string(i + 1)}}).dump() + "\n";
  }
  return lines;
}

TEST(DataFileTest, IsRequiredAndIdentifiedByItsContents) {
  const std::string directory = MakeDirectory(), file = WriteFile(directory, "sums.jsonl", Problems(5));
  const std::string run = TrainTinyRun({"data.path=\"" + file + "\"", "sft.steps=1"}) + "/run.h5";
  EXPECT_THAT(RunVerb("reproduce", {run}),
              FailsWith("reproduce", 64,
                        "the run's problems are in a file that is not stored in it; give its path: --data FILE"));
  const std::string same = WriteFile(directory, "renamed.jsonl", Problems(5));
  for (const std::string mode : {"replay", "regenerate"}) {
    const ProcessResult good = RunVerb("reproduce", {run, "--data", same, "--mode", mode});
    EXPECT_EQ(good.exit_code, 0) << good.err;
    EXPECT_THAT(good.out, HasSubstr("PASS: 3 steps"));
  }
  const std::string again = TrainTinyRun({"data.path=\"" + same + "\"", "sft.steps=1"}) + "/run.h5";
  EXPECT_EQ(Contents(again), Contents(run)) << "the file's name is a part of the run";
  const std::string other = WriteFile(directory, "other.jsonl", Problems(6));
  const ProcessResult bad = RunVerb("reproduce", {run, "--data", other});
  EXPECT_EQ(bad.exit_code, 64);
  EXPECT_THAT(bad.err, HasSubstr("--data: data/problems is not the run's file: sha256 "));
}

// The working directory of the verbs is another one than the configuration's.
TEST(DataFileTest, APathInAConfigurationIsRelativeToItsFileAndThatOfTheCommandLineToTheWorkingDirectory) {
  const std::string directory = MakeDirectory();
  WriteFile(directory, "sums.jsonl", Problems(5));
  const std::string config =
      WriteFile(directory, "run.toml", std::string(kTinyRun) + "[data]\npath = \"sums.jsonl\"\n");
  const std::string output = UniqueTemporaryPath();
  const ProcessResult begun = RunVerb("train", {config, "--output", output, "--stop-after-step", "1", "--quiet"});
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  const ProcessResult resumed = RunVerb("train", {config, "--output", output, "--resume", "--quiet"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(RunVerb("validate", {config, "--quiet"}).exit_code, 0);
  EXPECT_EQ(RunVerb("validate", {config, "--set", "data.path=sums.jsonl"}).exit_code, 64) << "there is none here";
  EXPECT_EQ(Contents(output + "/run.h5").find("sums.jsonl"), std::string::npos);
  const ProcessResult printed = RunVerb("validate", {config, "--print-config"});
  EXPECT_THAT(printed.out, HasSubstr("path = \"" + directory + "/sums.jsonl\""));
}

TEST(DataFileTest, AnErrorInItIsReportedWithItsLine) {
  const std::string directory = MakeDirectory(), config = WriteFile(directory, "run.toml", kTinyRun);
  const auto validate = [&](const std::string& contents) {
    const std::string file = WriteFile(directory, "d.jsonl", contents);
    return RunVerb("validate", {config, "--quiet", "--set", "data.path=\"" + file + "\""});
  };
  EXPECT_EQ(validate(Problems(3)).exit_code, 0);
  const std::string file = directory + "/d.jsonl";
  EXPECT_THAT(
      validate(Problems(2) + "{\"prompt\": \"x\"}\n"),
      FailsWith("validate", 65,
                file + ":3:1: \"answer\" is missing; algorithm.reward exact_match compares with it; expected lines as "
                       "{\"prompt\": \"12+7=\", \"answer\": \"19\"}"));
  // Even in a line that no early step reads.
  const ProcessResult late =
      validate(Problems(500) + "{\"prompt\": \"" + std::string(300, 'x') + "\", \"answer\": \"\"}\n");
  EXPECT_EQ(late.exit_code, 64);
  EXPECT_THAT(late.err, HasSubstr("(line 501 of " + file + ") has 300 tokens; "));
  const std::string output = UniqueTemporaryPath();
  const ProcessResult train =
      RunVerb("train", {config, "--output", output, "--quiet", "--set", "data.path=\"" + file + "\""});
  EXPECT_EQ(train.exit_code, 64);
  EXPECT_THAT(train.err, HasSubstr("(line 501 of " + file + ") has 300 tokens; "));
  EXPECT_FALSE(std::filesystem::exists(output)) << "the error was reported after the run had started";
}

TEST(DataFileTest, AnswersThatDoNotFitGiveAWarning) {
  const std::string directory = MakeDirectory(), config = WriteFile(directory, "run.toml", kTinyRun);
  const std::string file = WriteFile(directory, "d.jsonl", Problems(12));  // answers "1" to "12"
  const auto validate = [&](int room) {
    const ProcessResult result = RunVerb("validate", {config, "--set", "data.path=\"" + file + "\"", "--set",
                                                      "rollout.max_completion_length=" + std::to_string(room)});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err;
  };
  EXPECT_THAT(validate(2),
              HasSubstr("warning: rollout.max_completion_length 2 has no room for the answers of 3 of 12 "
                        "tasks with their end token, so no completion can earn their whole reward; 3 is enough"));
  EXPECT_EQ(validate(3).find("warning"), std::string::npos);
}

// Even without an SFT phase, which reads the answers: no completion could equal such an answer.
TEST(DataFileTest, TextThatAModelFromScratchCannotReadIsReportedWithItsLine) {
  const std::string directory = MakeDirectory(), config = WriteFile(directory, "run.toml", kTinyRun);
  const std::string file = directory + "/d.jsonl";
  const auto validate = [&](const std::string& line, const std::vector<std::string>& more = {}) {
    WriteFile(directory, "d.jsonl", Problems(2) + line + "\n");
    std::vector<std::string> arguments = {config, "--quiet", "--set", "data.path=\"" + file + "\""};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunVerb("validate", arguments);
  };
  const std::string remedy =
      ": the tokenizer has no token for the byte 0xc3; a model from scratch has tokens for ASCII, and with "
      "model.vocab_size = 256, and one more for each of model.words, for every byte";
  const ProcessResult prompt = validate("{\"prompt\": \"\u00e4\", \"answer\": \"a\"}");
  EXPECT_EQ(prompt.exit_code, 64);
  EXPECT_THAT(prompt.err, HasSubstr("(line 3 of " + file + "): \"\u00e4\"" + remedy));
  const std::string line = "{\"prompt\": \"a\", \"answer\": \"\u00e4\"}";
  const ProcessResult answer = validate(line);
  EXPECT_EQ(answer.exit_code, 64);
  EXPECT_THAT(answer.err, HasSubstr("the answer in line 3 of " + file + ": \"\u00e4\"" + remedy));
  const ProcessResult bytes = validate(line, {"--set", "model.vocab_size=256"});
  EXPECT_EQ(bytes.exit_code, 0) << bytes.err;
}

TEST(DataFileTest, MustBeAFile) {
  const std::string directory = MakeDirectory(), config = WriteFile(directory, "run.toml", kTinyRun);
  const std::string pipe = directory + "/d.jsonl";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(RunVerb("validate", {config, "--set", "data.path=\"" + pipe + "\""}),
              FailsWith("validate", 65, "cannot read " + pipe + ": it is not a regular file but a pipe"));
  EXPECT_THAT(RunVerb("validate", {config, "--set", "data.path=/dev/zero"}),
              FailsWith("validate", 65, "cannot read /dev/zero: it is not a regular file but a device or a socket"));
  EXPECT_THAT(RunVerb("validate", {config, "--set", "data.path=\"" + directory + "\""}),
              FailsWith("validate", 64, directory + " is a directory; expected a file of problems"));
}

TEST(DataFileTest, MustExist) {
  const std::string config = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  EXPECT_THAT(RunVerb("validate", {config, "--set", "data.path=nowhere.jsonl"}),
              FailsWith("validate", 64, "cannot find nowhere.jsonl: No such file or directory"));
}

// Networks that grow on a text.
constexpr char kGrowingRun[] = R"([run]
workload = "morphogenesis"
steps = 2
[morphogenesis]
task = "tinystories"
train_examples = 2
validation_examples = 2
batch_size = 2
width = 8
heads = 4
layers = 2
block_size = 8
max_epochs = 3
trunk = "8"
hidden = "8"
[rollout]
prompts_per_step = 1
num_generations = 2
[evaluation]
every = 2
num_prompts = 1
num_generations = 1
[artifact]
checkpoint_every = 1
)";

std::string Stories() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "Once upon a time there were " + std::to_string(i) + " mice. ";
  return text;
}

class GrowthDataTest : public ::testing::Test {
 protected:
  // Trains on the text in a file of a new directory, which is moved afterwards, and returns the run's directory.
  std::string Train(const std::vector<std::string>& flags = {}, std::string output = "") {
    const std::string directory = MakeDirectory();
    if (output.empty()) output = MakeDirectory() + "/run";
    std::vector<std::string> arguments = {
        WriteFile(directory, "growth.toml", kGrowingRun),
        "--output",
        output,
        "--quiet",
        "--set",
        "morphogenesis.data_path=\"" + WriteFile(directory, "text", Stories()) + "\""};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ProcessResult result = RunVerb("train", arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::filesystem::remove_all(directory);
    return output;
  }

  const std::string moved_ = WriteFile(MakeDirectory(), "moved.txt", Stories());
  static constexpr char kMissing[] =
      "the examples of the run's hosts are in files that are not stored in it; give the folder of CIFAR-10, or the "
      "file of stories: --data PATH";
};

TEST_F(GrowthDataTest, IsRequiredAndIdentifiedByItsContents) {
  const std::string run = Train(), file = run + "/run.h5";
  EXPECT_EQ(Contents(Train() + "/run.h5"), Contents(file)) << "the text's path is a part of the run";
  for (const std::string verb : {"reproduce", "evaluate"}) {
    EXPECT_THAT(RunVerb(verb, {file}), FailsWith(verb, 64, kMissing));
    const ProcessResult other =
        RunVerb(verb, {file, "--data", WriteFile(MakeDirectory(), "other", Stories() + "The end.")});
    EXPECT_EQ(other.exit_code, 64);
    EXPECT_THAT(other.err, HasSubstr("data/text is not the run's file: sha256 "));
  }
  for (const std::string mode : {"replay", "regenerate"}) {
    const ProcessResult good = RunVerb("reproduce", {file, "--data", moved_, "--mode", mode});
    EXPECT_EQ(good.exit_code, 0) << good.err;
    EXPECT_THAT(good.out, HasSubstr("PASS: 2 steps"));
  }
  const std::vector<nlohmann::json> lines = JsonLines(Contents(run + "/metrics.jsonl"));
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(RunForJson("evaluate", {run, "--data", moved_}, 0).at("eval_reward"), lines[1].at("eval_reward"));
  EXPECT_THAT(RunVerb("inspect", {run}).out, HasSubstr("data/text"));
}

TEST_F(GrowthDataTest, IsNotNeededForWeights) {
  const std::string run = Train(), output = MakeDirectory() + "/model";
  RunForJson("export", {run, "--output", output}, 0);
  EXPECT_EQ(Contents(output + "/model.safetensors"), Contents(run + "/model/model.safetensors"));
  const std::string next = Train({"--init-from", run}) + "/run.h5";
  EXPECT_EQ(RunForJson("reproduce", {next, "--init-from", run, "--data", moved_}, 0)["pass"], true);
}

TEST_F(GrowthDataTest, MayBeInAnotherPlaceWhenTheRunIsResumed) {
  const std::string whole = Train(), stopped = Train({"--stop-after-step", "1"});
  Train({"--resume"}, stopped);
  EXPECT_EQ(Contents(stopped + "/run.h5"), Contents(whole + "/run.h5"));
}

TEST_F(GrowthDataTest, OfARunThatGeneratedItIsRejected) {
  const std::string run = Train({"--set", "morphogenesis.data_path=\"\""});
  EXPECT_THAT(
      RunVerb("reproduce", {run + "/run.h5", "--data", moved_}),
      FailsWith("reproduce", 64,
                "--data " + moved_ + ": the run read no examples from files, it generated them: remove --data"));
}

TEST_F(GrowthDataTest, IsUsedForTheTrialsOfASweepThatReadIt) {
  const std::string directory = MakeDirectory(), sweep = directory + "/sweep";
  WriteFile(directory, "growth.toml", kGrowingRun);
  WriteFile(directory, "tiny.toml", kTinyRun);
  const std::string text = WriteFile(directory, "text", Stories());
  const std::string file = WriteFile(directory, "sweep.toml",
                                     "[[variants]]\nname = \"grows\"\nconfig = \"growth.toml\"\n"
                                     "morphogenesis.data_path = \"" +
                                         text + "\"\n[[variants]]\nname = \"tiny\"\nconfig = \"tiny.toml\"\n");
  const ProcessResult trained = RunVerb("sweep", {file, "--output", sweep, "--quiet"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  std::filesystem::remove(text);
  EXPECT_THAT(RunVerb("reproduce", {sweep, "--quiet"}), FailsWith("reproduce", 64, kMissing));
  EXPECT_THAT(RunVerb("reproduce", {sweep, "--quiet", "--data", moved_}).out, HasSubstr("PASS: the table is that of"));
}

}  // namespace
}  // namespace reprise::testing
