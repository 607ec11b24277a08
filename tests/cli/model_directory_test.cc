// What a model's directory has beside config.json and the weights, and what may stand in its place.

#include <algorithm>
#include <filesystem>

#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kPointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4665\nsize 996864\n";

class ModelDirectoryTest : public ::testing::Test {
 protected:
  ModelDirectoryTest() : model_(CopyOfModel()) {}

  ProcessResult Validate(const std::string& path) const {
    return RunVerb("validate", {WriteFile(MakeDirectory(), "run.toml", kTinyRun), "--quiet", "--set",
                                "model.path=\"" + path + "\""});
  }
  std::string Train() const { return TrainTinyRun({"model.path=\"" + model_ + "\""}); }
  // The largest number of tokens that a completion of the first step has.
  size_t LongestOf(const std::string& run) const {
    size_t longest = 0;
    const nlohmann::json step = JsonOf("inspect", {run + "/run.h5", "--step", "1"}, 0);
    for (const nlohmann::json& completion : step["completions"]) {
      longest = std::max(longest, completion["tokens"].size());
    }
    return longest;
  }

  const std::string model_;
};

// Every token is an end token, but not in config.json.
TEST_F(ModelDirectoryTest, CompletionsEndWithTheEndTokensOfGenerationConfigToo) {
  EXPECT_EQ(LongestOf(Train()), 4u);
  nlohmann::json generation = nlohmann::json::parse(Contents(model_ + "/generation_config.json"));
  for (int token = 0; token < 128; ++token) generation["all"].push_back(token);
  generation["eos_token_id"] = generation["all"];
  WriteFile(model_, "generation_config.json", generation.dump());
  const std::string run = Train(), file = run + "/run.h5";
  EXPECT_EQ(LongestOf(run), 1u);
  EXPECT_EQ(RunVerb("reproduce", {file, "--model", model_, "--quiet"}).exit_code, 0);
  // What was read is exported.
  EXPECT_EQ(Contents(run + "/model/generation_config.json"), generation.dump());
  EXPECT_EQ(nlohmann::json::parse(Contents(run + "/model/config.json"))["eos_token_id"], 1);
  // The file is a part of the model.
  WriteFile(model_, "generation_config.json", "{}");
  EXPECT_THAT(RunVerb("reproduce", {file, "--model", model_}).err,
              HasSubstr("model/generation_config.json is not the run's file: sha256 "));
}

TEST_F(ModelDirectoryTest, AFileThatAModelDidNotHaveIsNoPartOfTheRun) {
  std::filesystem::remove(model_ + "/generation_config.json");
  const std::string file = Train() + "/run.h5";
  EXPECT_EQ(RunVerb("reproduce", {file, "--model", model_, "--quiet"}).exit_code, 0);
  WriteFile(model_, "generation_config.json", R"({"eos_token_id": 7})");
  EXPECT_THAT(RunVerb("reproduce", {file, "--model", model_}),
              FailsWith("reproduce", 64,
                        "the model's directory has model/generation_config.json, which the run's did not have: remove "
                        "it"));
}

TEST_F(ModelDirectoryTest, TheEndTokenOfTheTokenizerEndsCompletionsAndLearnedAnswers) {
  nlohmann::json config = nlohmann::json::parse(Contents(model_ + "/config.json"));
  config["eos_token_id"] = 0;
  WriteFile(model_, "config.json", config.dump());
  std::filesystem::remove(model_ + "/generation_config.json");
  const std::string run = TrainTinyRun({"model.path=\"" + model_ + "\"", "warm_up.steps=1"});
  const nlohmann::json step = JsonOf("inspect", {run + "/run.h5", "--step", "1", "--phase", "warm-up"}, 0);
  ASSERT_FALSE(step["completions"].empty());
  for (const nlohmann::json& completion : step["completions"]) EXPECT_EQ(completion["tokens"].back(), 1);  // <eos>
}

TEST_F(ModelDirectoryTest, APointerOfGitLfsIsNamedWithItsRemedy) {
  for (const std::string name : {"model.safetensors", "tokenizer.json", "tokenizer_config.json", "config.json"}) {
    const std::string before = Contents(model_ + "/" + name);
    WriteFile(model_, name, kPointer);
    const ProcessResult result = Validate(model_);
    EXPECT_EQ(result.exit_code, name == "model.safetensors" ? 65 : 64);
    EXPECT_THAT(
        result.err,
        AllOf(HasSubstr(model_ + "/" + name + ": "),
              HasSubstr("this is a pointer of Git LFS, not the file itself: fetch the file with `git lfs pull`")));
    WriteFile(model_, name, before);
  }
  EXPECT_EQ(Validate(model_).exit_code, 0);
  const std::string data = WriteFile(model_, "d.jsonl", kPointer);
  EXPECT_THAT(RunVerb("validate", {WriteFile(model_, "run.toml", kTinyRun), "--set", "data.path=\"" + data + "\""}).err,
              HasSubstr("this is a pointer of Git LFS"));
}

TEST_F(ModelDirectoryTest, AFileInPlaceOfTheDirectoryIsNamed) {
  const std::string gguf = WriteFile(model_, "model.gguf", std::string("GGUF\x03\0\0\0", 8));
  EXPECT_THAT(
      Validate(gguf),
      FailsWith("validate", 64,
                gguf + " is a file; expected a model's directory, with config.json, model.safetensors and "
                       "tokenizer.json; this is a GGUF file, which is not read: use the model's directory in the "
                       "format of Hugging Face (config.json, model.safetensors, tokenizer.json)"));
  EXPECT_THAT(Validate(model_ + "/model.safetensors").err, HasSubstr("is a file; expected a model's directory"));
}

}  // namespace
}  // namespace reprise::testing
