#include "pipelines/stored/model_task.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/load.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

FileSystem& Files() { return PosixFileSystem(); }

std::string NewPath() {
  static int count = 0;
  return absl::StrCat(::testing::TempDir(), "/model_task_", ++count);
}

RunHeader HeaderOf(const rl::Config& config) {
  return {.config_text = rl::CanonicalConfig(config),
          .external_files = {{"data/problems", Sha256("problems")}, {"model/config.json", Sha256("model")}},
          .streams = {}};
}

TEST(ModelTaskTest, ReturnsWhatWasWritten) {
  const std::string directory = absl::StrCat(NewPath(), "/model");
  rl::Config config;
  config.data.path = "external";
  config.algorithm.reward = "character_match";
  ASSERT_OK(WriteModelTask(Files(), directory, HeaderOf(rl::Config()), 1));
  ASSERT_OK(WriteModelTask(Files(), directory, HeaderOf(config), 2));  // in place of the other
  ASSERT_OK_AND_ASSIGN(const std::optional<ModelTask> task, ReadModelTask(Files(), directory));
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->numeric_contract, 2);
  EXPECT_EQ(task->config.data.path, "external");
  EXPECT_EQ(task->config.algorithm.reward, "character_match");
  // The model that a run started from is not the one in the directory.
  EXPECT_EQ(task->files, (std::vector<ExternalFile>{{"data/problems", Sha256("problems")}}));
}

TEST(ModelTaskTest, AFileThatNoRunWroteStays) {
  const std::string directory = NewPath(), path = directory + "/reprise.json", mine = "{\"mine\": 1}";
  ASSERT_OK(CreateDirectories(Files(), directory));
  ASSERT_OK(WriteFileAtomically(Files(), path, mine));
  EXPECT_THAT(WriteModelTask(Files(), directory, HeaderOf(rl::Config()), 1),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("no run wrote it")));
  EXPECT_EQ(ReadFile(Files(), path, 100).value_or(""), mine);
}

TEST(ModelTaskTest, ADirectoryOfAnotherProgramHasNone) {
  ASSERT_OK_AND_ASSIGN(const std::optional<ModelTask> task, ReadModelTask(Files(), NewPath()));
  EXPECT_FALSE(task.has_value());
}

// The file may come from anywhere: it names no files of this machine, and nothing is taken from a damaged one.
TEST(ModelTaskTest, RefusesWhatTrainDoesNotWrite) {
  const auto error = [&](const std::string& text) {
    const std::string directory = NewPath();
    EXPECT_OK(CreateDirectories(Files(), directory));
    EXPECT_OK(WriteFileAtomically(Files(), directory + "/reprise.json", text));
    return ReadModelTask(Files(), directory).status();
  };
  const auto is = [](const char* text) { return StatusIs(absl::StatusCode::kDataLoss, HasSubstr(text)); };
  EXPECT_THAT(error("{"), is("/reprise.json: "));
  EXPECT_THAT(error("[]"), is("expected an object"));
  EXPECT_THAT(error(R"({"format": 1, "config": "", "files": {}})"), is("numeric_contract"));
  EXPECT_THAT(error(R"({"format": 2, "config": "", "files": {}})"), is("/format"));
  EXPECT_THAT(
      error(R"({"format": 1, "numeric_contract": 2, "config": "[data]\npath = \"/etc/passwd\"\n", "files": {}})"),
      is("contains a path in data.path"));
  EXPECT_THAT(error(R"({"format": 1, "numeric_contract": 2, "config": "[execution]\nthreads = 2\n", "files": {}})"),
              is("execution.threads"));
  EXPECT_THAT(error(R"({"format": 1, "numeric_contract": 2, "config": "", "files": {"data/problems": "12"}})"),
              is("; --config FILE"));
  EXPECT_THAT(error(R"({"format": 1, "numeric_contract": 2, "config": "", "files": {}, "trust_remote_code": true})"),
              is("/reprise.json: it has the unknown member \"trust_remote_code\": remove it"));
}

}  // namespace
}  // namespace reprise
