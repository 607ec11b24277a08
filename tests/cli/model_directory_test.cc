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
  size_t LongestCompletion(const std::string& run) const {
    size_t longest = 0;
    const nlohmann::json step = RunForJson("inspect", {run + "/run.h5", "--step", "1"}, 0);
    for (const nlohmann::json& completion : step["completions"]) {
      longest = std::max(longest, completion["tokens"].size());
    }
    return longest;
  }

  const std::string model_;
};

// Every token is an end token, but not in config.json.
TEST_F(ModelDirectoryTest, CompletionsEndWithTheEndTokensOfGenerationConfigToo) {
  EXPECT_EQ(LongestCompletion(Train()), 4u);
  nlohmann::json generation = nlohmann::json::parse(Contents(model_ + "/generation_config.json"));
  for (int token = 0; token < 128; ++token) generation["all"].push_back(token);
  generation["eos_token_id"] = generation["all"];
  WriteFile(model_, "generation_config.json", generation.dump());
  const std::string run = Train(), file = run + "/run.h5";
  EXPECT_EQ(LongestCompletion(run), 1u);
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
  const std::string run = TrainTinyRun({"model.path=\"" + model_ + "\"", "sft.steps=1"});
  const nlohmann::json step = RunForJson("inspect", {run + "/run.h5", "--step", "1", "--phase", "sft"}, 0);
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

TEST_F(ModelDirectoryTest, TheEndTokenOfTheSpecialTokensMapEndsCompletionsToo) {
  WriteFile(model_, "config.json", [&] {
    nlohmann::json config = nlohmann::json::parse(Contents(model_ + "/config.json"));
    config["eos_token_id"] = nullptr;
    return config.dump();
  }());
  std::filesystem::remove(model_ + "/generation_config.json");
  std::filesystem::remove(model_ + "/tokenizer_config.json");
  EXPECT_THAT(Validate(model_).err, HasSubstr("the model has no end token"));
  WriteFile(model_, "special_tokens_map.json", R"({"eos_token": {"content": "<eos>"}})");
  EXPECT_EQ(Validate(model_).exit_code, 0);
  const std::string run = Train();
  EXPECT_EQ(RunVerb("reproduce", {run + "/run.h5", "--model", model_, "--quiet"}).exit_code, 0);
  EXPECT_EQ(Contents(run + "/model/special_tokens_map.json"), Contents(model_ + "/special_tokens_map.json"));
  EXPECT_EQ(Validate(run + "/model").exit_code, 0);
  WriteFile(model_, "special_tokens_map.json", R"({"eos_token": "<eos>"})");
  EXPECT_THAT(RunVerb("reproduce", {run + "/run.h5", "--model", model_}).err,
              HasSubstr("model/special_tokens_map.json is not the run's file: sha256 "));
}

TEST_F(ModelDirectoryTest, AFileThatWasLostIsRejected) {
  for (const std::string name : {"generation_config.json", "tokenizer_config.json", "model.safetensors"}) {
    const std::string path = model_ + "/" + name, before = Contents(path);
    WriteFile(model_, name, "");
    const ProcessResult empty = Validate(model_);
    EXPECT_EQ(empty.exit_code, name == "model.safetensors" ? 65 : 64);
    EXPECT_THAT(empty.err, AllOf(HasSubstr(path), HasSubstr(name == "model.safetensors" ? ": the file has 0 bytes"
                                                                                        : " is empty, as a download")));
    std::filesystem::remove(path);
    std::filesystem::create_symlink("../blobs/ab12", path);
    const ProcessResult dangling = Validate(model_);
    EXPECT_EQ(dangling.exit_code, 64);
    EXPECT_THAT(dangling.err, HasSubstr("cannot find " + path +
                                        ": it is a symbolic link to ../blobs/ab12, which does not exist: "
                                        "fetch the file again, or copy its directory together with what its "
                                        "links lead to (cp -rL)"));
    std::filesystem::remove(path);
    WriteFile(model_, name, before);
  }
  EXPECT_EQ(Validate(model_).exit_code, 0);
}

TEST_F(ModelDirectoryTest, AnAnswerInPlaceOfTheWeightsIsQuoted) {
  for (const std::string text : {"Entry not found", "{\"error\":\"Repository not found\"}"}) {
    WriteFile(model_, "model.safetensors", text);
    const ProcessResult result = Validate(model_);
    EXPECT_EQ(result.exit_code, 65);
    EXPECT_THAT(result.err, HasSubstr("/model.safetensors: not a safetensors file: this is text that begins with \""));
    EXPECT_THAT(result.err, HasSubstr(text.substr(text.find_first_of("EeR"), 5)));
  }
}

TEST_F(ModelDirectoryTest, ATokenizerInAnotherFormatIsNamed) {
  std::filesystem::remove(model_ + "/tokenizer.json");
  WriteFile(model_, "vocab.json", "{}");
  WriteFile(model_, "merges.txt", "#version: 0.2\n");
  const ProcessResult result = Validate(model_);
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, HasSubstr("the directory has its tokenizer as vocab.json, which is not read: write "
                                    "tokenizer.json beside it, with python3 -c 'from transformers import "));
}

// In a file, other paths are relative to it.
TEST_F(ModelDirectoryTest, AnAddressIsNoPathAndSaysHowToFetchTheModel) {
  const auto validate = [&](const std::string& path) {
    return RunVerb("validate", {WriteFile(MakeDirectory(), "run.toml",
                                          std::string(kTinyRun) + "[model]\npath = \"" + path + "\"\n")});
  };
  const std::string nothing = " is an address, and nothing is fetched here; expected the path of a model's directory: ";
  for (const std::string path :
       {"https://huggingface.co/allenai/OLMoE-1B-7B-0924/tree/main", "hf://allenai/OLMoE-1B-7B-0924"}) {
    EXPECT_THAT(validate(path), FailsWith("validate", 64,
                                          path + nothing +
                                              "download it first, with hf download allenai/OLMoE-1B-7B-0924 "
                                              "--local-dir OLMoE-1B-7B-0924 (model.path)"));
  }
  EXPECT_THAT(validate("file:///models/small"),
              FailsWith("validate", 64, "file:///models/small" + nothing + "write /models/small (model.path)"));
  EXPECT_THAT(validate("s3://bucket/model").err,
              HasSubstr("download it first, and give the path of what was downloaded"));
  EXPECT_THAT(validate("allenai/OLMoE-1B-7B-0924").err,
              HasSubstr("there is no allenai/OLMoE-1B-7B-0924 here; expected the path of a model's directory. "));
  EXPECT_THAT(RunVerb("evaluate", {"https://huggingface.co/allenai/OLMoE-1B-7B-0924"}).err,
              HasSubstr(" is an address, and nothing is fetched here"));
}

TEST_F(ModelDirectoryTest, AConfigurationOfAnotherFormatIsNamed) {
  const auto validate = [&](const std::string& text) {
    return RunVerb("validate", {WriteFile(MakeDirectory(), "run.toml", text)});
  };
  for (const auto& [text, named] : std::vector<std::pair<std::string, std::string>>{
           {kPointer, "this is a pointer of Git LFS, not the file itself: fetch the file with `git lfs pull`"},
           {std::string("\x1f\x8b\x08\0\0", 5), "this looks like a file compressed by gzip: unpack it with gzip -d"},
           {std::string("\xff\xfe[\0r\0u\0n\0]\0", 12), "this looks like UTF-16: convert it"}}) {
    const ProcessResult result = validate(text);
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_THAT(result.err, HasSubstr("run.toml: " + named));
  }
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
