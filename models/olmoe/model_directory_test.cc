#include "models/olmoe/model_directory.h"

#include <filesystem>
#include <string>
#include <vector>

#include "core/testing/goldens.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/files/files.h"
#include "models/olmoe/weights.h"

namespace reprise::models {
namespace {

using reprise::testing::GoldenModels;
using reprise::testing::GoldensDirectory;
using reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Read(const std::string& directory, const std::string& file) {
  const absl::StatusOr<std::string> bytes = ReadSmallFile(directory + "/" + file, size_t{1} << 30);
  EXPECT_OK(bytes);
  return bytes.value_or("");
}

std::string EmptyDirectory(const std::string& name) {
  const std::string directory = ::testing::TempDir() + "/" + name;
  std::filesystem::remove_all(directory);
  return directory;
}

TEST(ModelDirectoryTest, AGoldenModelSurvivesImportAndExport) {
  ASSERT_FALSE(GoldenModels().empty());
  for (const std::string& model : GoldenModels()) {
    const std::string source = GoldensDirectory() + "/models/" + model, copy = EmptyDirectory("copy_of_" + model);
    ASSERT_OK_AND_ASSIGN(const DecoderConfig config, ReadModelConfig(source));
    const ParameterLayout layout = MakeParameterLayout(config);
    std::vector<float> weights(layout.total), again(layout.total);
    ASSERT_OK(LoadWeights(source, layout, absl::MakeSpan(weights)));
    const std::string tokenizer = Read(source, "tokenizer.json"), tokenizer_config = "{}";
    ASSERT_OK(ExportModel(copy, config, layout, weights, {tokenizer, tokenizer_config}));

    ASSERT_OK_AND_ASSIGN(const DecoderConfig config_again, ReadModelConfig(copy));
    EXPECT_EQ(config_again, config);
    ASSERT_OK(LoadWeights(copy, layout, absl::MakeSpan(again)));
    EXPECT_EQ(again, weights);
    if (std::filesystem::exists(source + "/model.safetensors")) {
      EXPECT_EQ(Read(copy, "model.safetensors"), Read(source, "model.safetensors")) << model;
    }
    EXPECT_EQ(Read(copy, "tokenizer.json"), tokenizer);
    EXPECT_EQ(Read(copy, "tokenizer_config.json"), "{}");
    EXPECT_THAT(*ModelFiles(copy), ElementsAre(copy + "/config.json", copy + "/model.safetensors",
                                               copy + "/tokenizer.json", copy + "/tokenizer_config.json"));
  }
}

TEST(ModelDirectoryTest, AnErrorInTheConfigNamesTheFile) {
  const std::string directory = EmptyDirectory("broken_config");
  EXPECT_THAT(ReadModelConfig(directory), StatusIs(absl::StatusCode::kNotFound, HasSubstr(directory + "/config.json")));
  std::filesystem::create_directories(directory);
  ASSERT_OK(WriteFileAtomically(directory + "/config.json", {R"({"model_type": "gpt2"})"}));
  EXPECT_THAT(ReadModelConfig(directory),
              StatusIs(absl::StatusCode::kUnimplemented,
                       directory + R"(/config.json: /model_type is "gpt2"; only "olmoe" is supported)"));
}

TEST(ModelDirectoryTest, DoesNotMixWithShardedWeights) {
  const std::string directory = EmptyDirectory("sharded");
  std::filesystem::create_directories(directory);
  ASSERT_OK(WriteFileAtomically(directory + "/model.safetensors.index.json", {"{}"}));
  const DecoderConfig config;
  const ParameterLayout layout = MakeParameterLayout(config);
  const std::vector<float> weights(layout.total);
  EXPECT_THAT(ExportModel(directory, config, layout, weights, {"{}", "{}"}),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       directory + "/model.safetensors.index.json belongs to other weights; export to an empty "
                                   "directory"));
}

}  // namespace
}  // namespace reprise::models
