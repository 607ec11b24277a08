// Damaged model files are named before training, with exit code 65; missing ones with exit code 64.

#include <sys/stat.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>

#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

// A safetensors file in parts: 8 bytes of length, a JSON header, and data.
struct Safetensors {
  nlohmann::ordered_json header;
  std::string data;

  static Safetensors Read(const std::string& path) {
    const std::string bytes = Contents(path);
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    return {nlohmann::ordered_json::parse(bytes.substr(8, length)), bytes.substr(8 + length)};
  }
  std::string Encode() const {
    const std::string text = header.dump();
    const uint64_t length = text.size();
    return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text + data;
  }
};

class BadModelTest : public ::testing::Test {
 protected:
  BadModelTest() : model_(CopyOfModel()), weights_(model_ + "/model.safetensors") {}

  ProcessResult Validate() const {
    return RunVerb("validate", {WriteFile(MakeDirectory(), "run.toml", kTinyRun), "--quiet", "--set",
                                "model.path=\"" + model_ + "\""});
  }
  void ExpectCorrupted(const std::string& message) const {
    const ProcessResult result = Validate();
    EXPECT_EQ(result.exit_code, 65);
    EXPECT_EQ(result.err, "reprise validate: error: " + weights_ + ": " + message + "\n");
  }
  void Rewrite(const std::function<void(Safetensors&)>& change) const {
    Safetensors file = Safetensors::Read(weights_);
    change(file);
    WriteFile(model_, "model.safetensors", file.Encode());
  }

  const std::string model_, weights_;
};

TEST_F(BadModelTest, AnUncorruptedModelIsFine) {
  const ProcessResult result = Validate();
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(BadModelTest, MissingWeightsAreNamed) {
  std::filesystem::remove(weights_);
  const ProcessResult result = Validate();
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_EQ(result.err, "reprise validate: error: " + model_ +
                            ": neither model.safetensors nor model.safetensors.index.json exists\n");
}

TEST_F(BadModelTest, AMissingDirectoryIsNamed) {
  std::filesystem::remove_all(model_);
  EXPECT_THAT(Validate(),
              FailsWith("validate", 64, "cannot find " + model_ + ": No such file or directory (model.path)"));
  std::filesystem::create_directory(model_);
  EXPECT_THAT(Validate(), FailsWith("validate", 64,
                                    "cannot find " + model_ + "/config.json: No such file or directory (model.path)"));
}

// A value that is the default of models from scratch too: the checkpoint's own would be used, and nothing would say so.
TEST_F(BadModelTest, AKeyOfTheShapeThatIsNotTheModelsIsRejected) {
  const auto validate = [&](const std::string& key) {
    return RunVerb("validate", {WriteFile(MakeDirectory(), "run.toml", kTinyRun), "--quiet", "--set",
                                "model.path=\"" + model_ + "\"", "--set", key});
  };
  EXPECT_EQ(validate("model.hidden_size=64").exit_code, 0);  // as in its config.json
  const std::string message =
      "model.num_experts is 8, but config.json of model.path has 4, which the model keeps: remove the key, which "
      "shapes "
      "a model from scratch";
  nlohmann::json config = nlohmann::json::parse(Contents(model_ + "/config.json"));
  config["num_experts"] = 4;
  WriteFile(model_, "config.json", config.dump());
  EXPECT_THAT(validate("model.num_experts=8"), FailsWith("validate", 64, message));
  EXPECT_THAT(RunVerb("train", {WriteFile(MakeDirectory(), "run.toml", kTinyRun), "--output", MakeDirectory() + "/run",
                                "--set", "model.path=\"" + model_ + "\"", "--set", "model.num_experts=8"}),
              FailsWith("train", 64, message));
}

// A hint must lead on: the command is named only for what then loads.
TEST_F(BadModelTest, TheErrorForANameOfTheHubSaysWhatOfItLoads) {
  constexpr char kFamilies[] =
      "If it is a model's name: of those on the Hugging Face Hub, models of the family OLMoE load (model_type olmoe in "
      "their config.json)";
  EXPECT_THAT(RunVerb("evaluate", {"allenai/OLMoE-1B-7B-0924"}),
              FailsWith("evaluate", 64,
                        std::string("there is no allenai/OLMoE-1B-7B-0924 here; expected the path of a run or of a "
                                    "model's directory. ") +
                            kFamilies +
                            ", and this fetches one: hf download allenai/OLMoE-1B-7B-0924 --local-dir "
                            "OLMoE-1B-7B-0924"));
  const std::string config = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  EXPECT_THAT(RunVerb("validate", {config, "--set", "model.path=Qwen/Qwen2.5-0.5B"}),
              FailsWith("validate", 64,
                        std::string("there is no Qwen/Qwen2.5-0.5B here; expected the path of a model's "
                                    "directory. ") +
                            kFamilies + " (model.path)"));
  const ProcessResult data = RunVerb("validate", {config, "--set", "data.path=openai/gsm8k"});
  EXPECT_THAT(data.err, ::testing::HasSubstr("what is there is not read as it is, but a file of JSON lines"));
  EXPECT_THAT(data.err, ::testing::Not(::testing::HasSubstr("hf download")));
}

TEST_F(BadModelTest, APathThatLooksLocalIsOnlySaidToBeMissing) {
  const std::string config = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  for (const std::string path : {"data/train.jsonl", "mine/small.gguf", "./small", "/models/small", "tests/small"}) {
    for (const std::string key : {"model.path", "data.path"}) {
      const ProcessResult result = RunVerb("validate", {config, "--set", key + "=" + path});
      EXPECT_EQ(result.exit_code, 64);
      EXPECT_THAT(result.err, ::testing::HasSubstr("cannot find " + path + ": No such file or directory"));
      EXPECT_THAT(result.err, ::testing::Not(::testing::HasSubstr("Hugging Face")));
    }
  }
}

// A read of a pipe would block.
TEST_F(BadModelTest, PipesInPlaceOfItsFilesAreRejected) {
  for (const std::string name : {"model.safetensors", "tokenizer.json", "config.json"}) {
    const std::string path = model_ + "/" + name;
    std::filesystem::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const ProcessResult result = Validate();
    EXPECT_THAT(result.exit_code, ::testing::AnyOf(64, 65));
    EXPECT_THAT(result.err, ::testing::AllOf(::testing::HasSubstr(path), ::testing::HasSubstr("regular file")));
  }
}

TEST_F(BadModelTest, ARopeThetaOutOfRangeIsNamed) {
  nlohmann::json config = nlohmann::json::parse(Contents(model_ + "/config.json"));
  for (nlohmann::json* const object : {&config, &config["rope_parameters"]}) {
    if (object->is_object()) (*object)["rope_theta"] = 1e-12;
  }
  WriteFile(model_, "config.json", config.dump());
  const ProcessResult result = Validate();
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, ::testing::HasSubstr("rope_theta is 1e-12; expected 1 to 1e+30"));
}

TEST_F(BadModelTest, TruncatedDataAreNoticed) {
  const auto bytes = static_cast<int64_t>(Safetensors::Read(weights_).data.size());
  std::filesystem::resize_file(weights_, std::filesystem::file_size(weights_) - 1);
  ExpectCorrupted("the header describes " + std::to_string(bytes) + " bytes of data, the file holds " +
                  std::to_string(bytes - 1) + "; it is truncated");
}

TEST_F(BadModelTest, ATruncatedHeaderIsNoticed) {
  const std::string claimed = std::to_string(Safetensors::Read(weights_).header.dump().size());
  Rewrite([](Safetensors&) {});
  std::filesystem::resize_file(weights_, 1000);
  ExpectCorrupted("the header claims " + claimed + " bytes, the file holds 992 after its length; it is truncated");
}

TEST_F(BadModelTest, OverlappingTensorsAreNamed) {
  Rewrite([](Safetensors& file) {
    const int64_t bytes = file.header["model.embed_tokens.weight"]["data_offsets"][1].get<int64_t>() -
                          file.header["model.embed_tokens.weight"]["data_offsets"][0].get<int64_t>();
    file.header["model.embed_tokens.weight"]["data_offsets"] = {0, bytes};
  });
  ExpectCorrupted(
      "tensor model.embed_tokens.weight starts at byte 0 of the data, inside the tensor before it, which ends at "
      "32768");
}

TEST_F(BadModelTest, OffsetsBeyondTheTensorAreNamed) {
  Rewrite([](Safetensors& file) { file.header["model.norm.weight"]["data_offsets"] = {989184, int64_t{1} << 60}; });
  ExpectCorrupted(
      "/model.norm.weight/data_offsets: [989184, 1152921504606846976] does not hold the 256 bytes of F32 [64]");
}

TEST_F(BadModelTest, AShapeWhoseSizeOverflowsIsNamed) {
  Rewrite([](Safetensors& file) { file.header["model.norm.weight"]["shape"] = {int64_t{1} << 40, int64_t{1} << 40}; });
  ExpectCorrupted("/model.norm.weight/data_offsets: the byte size of shape [1099511627776, 1099511627776] overflows");
}

TEST_F(BadModelTest, AWeightThatIsNotANumberIsNamed) {
  Rewrite([](Safetensors& file) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(file.data.data() + file.header["lm_head.weight"]["data_offsets"][0].get<size_t>() + 20, &nan,
                sizeof(nan));
  });
  ExpectCorrupted("tensor lm_head.weight, element 5 of shape [128, 64]: NaN; weights must be finite");
}

TEST_F(BadModelTest, AConfigurationThatDoesNotFitTheWeightsIsNamed) {
  nlohmann::json config = nlohmann::json::parse(Contents(model_ + "/config.json"));
  config["num_hidden_layers"] = 1;
  WriteFile(model_, "config.json", config.dump());
  const ProcessResult result = Validate();
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, ::testing::HasSubstr(model_ + ": the weights do not fit config.json: unexpected "
                                                        "model.layers.1.input_layernorm.weight, "));
}

}  // namespace
}  // namespace reprise::testing
