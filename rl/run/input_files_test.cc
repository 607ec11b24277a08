#include "rl/run/input_files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/run/path_keys.h"

namespace reprise::rl {
namespace {

// Writes a file below the tests' directory and returns its path.
std::string Write(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
  return path.string();
}

std::string NamesAndDigests(const Config& config) {
  const absl::StatusOr<std::vector<ExternalFile>> files = DigestInputFiles(config);
  if (!files.ok()) return std::string(files.status().message());
  std::string text;
  for (const ExternalFile& file : *files) text += file.name + " " + ToHex(file.sha256).substr(0, 8) + "\n";
  return text;
}

// Digests by sha256sum.
TEST(InputFilesTest, AreNamedAsARunStoresThem) {
  Config config;
  EXPECT_EQ(NamesAndDigests(config), "");
  config.data.path = Write("a.jsonl", "a");
  config.evaluation.path = Write("b.jsonl", "b");
  EXPECT_EQ(NamesAndDigests(config), "data/held_out 3e23e816\ndata/problems ca978112\n");
  config.data.path = "nowhere.jsonl";
  EXPECT_EQ(NamesAndDigests(config), "cannot find nowhere.jsonl: No such file or directory");
}

TEST(InputFilesTest, AFolderHasAllFilesOfItsKind) {
  Config config;
  config.run.workload = "morphogenesis";
  config.morphogenesis.task = "tinystories";
  config.morphogenesis.data_path = Write("stories.txt", "a");
  EXPECT_EQ(NamesAndDigests(config), "data/text ca978112\n");
  config.morphogenesis.task = "cifar10";
  std::string expected;
  for (const std::string& name : PathKeyForFlag("--data", config).files(config)) {
    Write("cifar/" + name.substr(name.rfind('/') + 1), "b");
    expected += name + " 3e23e816\n";
  }
  config.morphogenesis.data_path = std::filesystem::path(::testing::TempDir()) / "cifar";
  EXPECT_EQ(NamesAndDigests(config), expected);
  EXPECT_GT(expected.size(), 100u) << "several files";
}

TEST(PathKeysTest, ARelativePathIsPlacedAndOthersStay) {
  EXPECT_EQ(PathFrom("d/e", "a.jsonl"), "d/e/a.jsonl");
  EXPECT_EQ(PathFrom("", "a.jsonl"), "a.jsonl");
  EXPECT_EQ(PathFrom("d", "/a.jsonl"), "/a.jsonl");
  EXPECT_EQ(PathFrom("d", ""), "");
  for (const std::string elsewhere : {"https://huggingface.co/a/b", "file:///a/b", "hf://a/b", "allenai/OLMoE-1B"}) {
    EXPECT_EQ(PathFrom("d", elsewhere), elsewhere);
  }
  EXPECT_EQ(PathFrom("/", "usr/share"), "/usr/share") << "the directory has a part of the path";
  EXPECT_EQ(FindPathKey("data.path")->flag, "--data");
  EXPECT_EQ(FindPathKey("data.task"), nullptr);
}

}  // namespace
}  // namespace reprise::rl
