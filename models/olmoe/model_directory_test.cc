#include "models/olmoe/model_directory.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/testing/goldens.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/olmoe/weights.h"

namespace reprise::models {
namespace {

using reprise::testing::GoldenModels;
using reprise::testing::GoldensDirectory;
using reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Read(const std::string& directory, const std::string& file) {
  const absl::StatusOr<std::string> bytes = ReadFile(PosixFileSystem(), directory + "/" + file, size_t{1} << 30);
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
    const DecoderLayout layout = MakeDecoderLayout(config);
    std::vector<float> weights(layout.total), again(layout.total);
    ASSERT_OK(LoadWeights(source, layout, absl::MakeSpan(weights)));
    const std::string tokenizer = Read(source, "tokenizer.json"), tokenizer_config = "{}";
    ASSERT_OK_AND_ASSIGN(const std::string generation, ReadGenerationConfig(source));
    ASSERT_OK(ExportModel(PosixFileSystem(), copy, config, weights, {tokenizer, tokenizer_config, "", generation}));

    ASSERT_OK_AND_ASSIGN(const DecoderConfig config_again, ReadModelConfig(copy));
    EXPECT_EQ(config_again, config);
    ASSERT_OK(LoadWeights(copy, layout, absl::MakeSpan(again)));
    EXPECT_EQ(again, weights);
    if (std::filesystem::exists(source + "/model.safetensors")) {
      EXPECT_EQ(Read(copy, "model.safetensors"), Read(source, "model.safetensors")) << model;
    }
    EXPECT_EQ(Read(copy, "tokenizer.json"), tokenizer);
    EXPECT_EQ(Read(copy, "tokenizer_config.json"), "{}");
    EXPECT_EQ(Read(copy, "generation_config.json"), Read(source, "generation_config.json"));
    EXPECT_THAT(*ModelFiles(copy),
                ElementsAre(copy + "/config.json", copy + "/generation_config.json", copy + "/model.safetensors",
                            copy + "/tokenizer.json", copy + "/tokenizer_config.json"));
  }
}

TEST(ModelDirectoryTest, AnErrorInTheConfigNamesTheFile) {
  const std::string directory = EmptyDirectory("broken_config");
  EXPECT_THAT(ReadModelConfig(directory), StatusIs(absl::StatusCode::kNotFound, HasSubstr(directory + "/config.json")));
  std::filesystem::create_directories(directory);
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), directory + "/config.json", R"({"model_type": "gpt2"})"));
  EXPECT_THAT(ReadModelConfig(directory),
              StatusIs(absl::StatusCode::kUnimplemented,
                       directory + R"(/config.json: /model_type is "gpt2"; only "olmoe" is supported)"));
}

TEST(ModelDirectoryTest, AFileInPlaceOfADirectoryIsNamed) {
  const std::string directory = EmptyDirectory("files");
  std::filesystem::create_directories(directory);
  const auto refusal = [&](const std::string& name, const std::string& bytes) {
    EXPECT_OK(WriteFileAtomically(PosixFileSystem(), directory + "/" + name, bytes));
    return ReadModelConfig(directory + "/" + name).status();
  };
  const std::string expected = " is a file; expected a model's directory, with config.json, model.safetensors and ";
  EXPECT_THAT(refusal("a.gguf", "GGUF3"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                   AllOf(HasSubstr("/a.gguf" + expected), HasSubstr("a GGUF file"))));
  EXPECT_THAT(refusal("a.bin", "PK\x03\x04"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("PyTorch's .bin and .pt files")));
  EXPECT_THAT(refusal("model.safetensors", "x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(expected + "tokenizer.json")));
  std::filesystem::remove(directory + "/a.gguf");
  EXPECT_OK(WriteFileAtomically(PosixFileSystem(), directory + "/model.bin", "PK"));
  EXPECT_THAT(ReadModelConfig(directory),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("; pickled weights, such as model.bin, are not read")));
}

TEST(ModelDirectoryTest, PointersInPlaceOfTextsAreNamed) {
  const std::string directory = EmptyDirectory("pointers");
  std::filesystem::create_directories(directory);
  for (const std::string name : {"config.json", "generation_config.json", "chat_template.jinja"}) {
    ASSERT_OK(WriteFileAtomically(PosixFileSystem(), directory + "/" + name,
                                  "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n"));
  }
  const auto is_named = [&](const std::string& name) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    AllOf(HasSubstr(directory + "/" + name + ": "), HasSubstr("this is a pointer of Git LFS")));
  };
  EXPECT_THAT(ReadModelConfig(directory), is_named("config.json"));
  EXPECT_THAT(ReadGenerationConfig(directory), is_named("generation_config.json"));
  EXPECT_THAT(ReadChatTemplate(directory), is_named("chat_template.jinja"));
}

TEST(ModelDirectoryTest, ExistingFilesAreNotReplaced) {
  const DecoderConfig config;
  const std::vector<float> weights(MakeDecoderLayout(config).total);
  for (const std::string name : {"model.safetensors", "tokenizer.json", "model.safetensors.index.json"}) {
    const std::string directory = EmptyDirectory("occupied");
    std::filesystem::create_directories(directory);
    ASSERT_OK(WriteFileAtomically(PosixFileSystem(), directory + "/" + name, "mine"));
    EXPECT_THAT(
        ExportModel(PosixFileSystem(), directory, config, weights, {"{}", "{}"}),
        StatusIs(
            absl::StatusCode::kAlreadyExists,
            directory + "/" + name +
                " exists; export to an empty directory (without a config.json, it may be left of an export that was "
                "killed)"));
    EXPECT_EQ(Read(directory, name), "mine");
    ASSERT_OK(WriteFileAtomically(PosixFileSystem(), directory + "/config.json", "mine"));
    EXPECT_THAT(
        ExportModel(PosixFileSystem(), directory, config, weights, {"{}", "{}"}),
        StatusIs(absl::StatusCode::kAlreadyExists, directory + "/config.json exists; export to an empty directory"));
  }
}

TEST(ModelDirectoryTest, ANetworksDirectoryIsCheckedBeforeAnythingIsWritten) {
  const std::string directory = EmptyDirectory("occupied_by_config");
  std::filesystem::create_directories(directory);
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), directory + "/config.json", "mine"));
  const DecoderLayout layout = MakeDecoderLayout(DecoderConfig());
  const std::vector<float> weights(static_cast<size_t>(layout.total));
  EXPECT_THAT(ExportNetwork(PosixFileSystem(), directory, layout, weights, "{}"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("config.json exists")));
  EXPECT_FALSE(std::filesystem::exists(directory + "/model.safetensors"));
}

TEST(ModelDirectoryTest, AfterAFullDiskTheSameExportSucceeds) {
  DecoderConfig config;
  config.num_hidden_layers = config.num_experts = config.num_experts_per_tok = 1;
  const std::vector<float> weights(MakeDecoderLayout(config).total);
  const auto export_to = [&](FileSystem& files) {
    return ExportModel(files, "out", config, weights, {"{}", "{}", "x"});
  };
  FakeFileSystem whole;
  ASSERT_OK(export_to(whole));
  for (int64_t call = 0; call < whole.calls(); ++call) {
    FakeFileSystem files;
    files.FailCall(call, ENOSPC, /*persistent=*/false);
    if (export_to(files).ok()) continue;  // a call whose failure does not matter
    EXPECT_OK(export_to(files)) << whole.log()[call];
  }
}

TEST(ModelDirectoryTest, AConfigAppearsOnlyInACompleteDirectory) {
  DecoderConfig config;
  config.num_hidden_layers = config.num_experts = config.num_experts_per_tok = 1;
  const std::vector<float> weights(MakeDecoderLayout(config).total);
  const auto export_to = [&](FileSystem& files) { return ExportModel(files, "out", config, weights, {"{}", "{}"}); };
  FakeFileSystem whole;
  ASSERT_OK(export_to(whole));
  for (int64_t call = 0; call < whole.calls() - 1; ++call) {  // the last one syncs the complete directory
    FakeFileSystem files;
    files.FailCall(call, ENOSPC, /*persistent=*/true);
    EXPECT_FALSE(export_to(files).ok()) << whole.log()[call];
    files.LosePower();
    const absl::StatusOr<FileInfo> config_json = files.Stat("out/config.json");
    EXPECT_TRUE(absl::IsNotFound(config_json.status())) << whole.log()[call];
  }
}

}  // namespace
}  // namespace reprise::models
