#include "pipelines/stored/model_task.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/load.h"
#include "rl/workloads/completions/model_files.h"

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
  config.algorithm.reward.functions = "character_match";
  ASSERT_OK(WriteModelTask(Files(), directory, HeaderOf(rl::Config()), {}));
  ASSERT_OK(WriteModelTask(Files(), directory, HeaderOf(config), {}));  // in place of the other
  ASSERT_OK_AND_ASSIGN(const std::optional<ModelTask> task, ReadModelTask(Files(), directory));
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->config.data.path, "external");
  EXPECT_EQ(task->config.algorithm.reward.functions, "character_match");
  // The model that a run started from is not the one in the directory.
  EXPECT_EQ(task->files, (std::vector<ExternalFile>{{"data/problems", Sha256("problems")}}));
}

// Writes the model of a run that began with another, and returns its directory.
std::string ModelOn(const std::string& base, const std::string& reward) {
  rl::Config config;
  config.algorithm.reward.functions = reward;
  std::string directory = absl::StrCat(NewPath(), "/model");
  std::vector<StoredTraining> trainings;
  if (!base.empty()) {
    const std::string text = ReadFile(Files(), base + "/reprise.json", rl::kMostModelTaskBytes).value();
    trainings = ReadTrainings(Files(), base, {{std::string(rl::kModelTaskName), Sha256(text)}}).value();
  }
  EXPECT_OK(WriteModelTask(Files(), directory, HeaderOf(config), trainings));
  return directory;
}

TEST(ModelTaskTest, ListsTheRunsThatTrainedTheModelBeforeTheLastFirst) {
  const std::string first = ModelOn("", "exact_match"), second = ModelOn(first, "character_match");
  const std::string third = ModelOn(second, "exact_match character_match");
  ASSERT_OK_AND_ASSIGN(const std::optional<ModelTask> task, ReadModelTask(Files(), third));
  ASSERT_EQ(task->earlier.size(), 2u);
  EXPECT_EQ(task->config.algorithm.reward.functions, "exact_match character_match");
  EXPECT_EQ(task->earlier[0].config.algorithm.reward.functions, "character_match");
  EXPECT_EQ(task->earlier[1].config.algorithm.reward.functions, "exact_match");
  EXPECT_EQ(task->earlier[1].files, (std::vector<ExternalFile>{{"data/problems", Sha256("problems")}}));
  // Another round with a configuration that has been is not listed again.
  ASSERT_OK_AND_ASSIGN(const std::optional<ModelTask> again, ReadModelTask(Files(), ModelOn(third, "exact_match")));
  ASSERT_OK_AND_ASSIGN(const std::optional<ModelTask> more,
                       ReadModelTask(Files(), ModelOn(ModelOn(third, "exact_match"), "exact_match")));
  EXPECT_EQ(again->earlier.size(), 3u);
  EXPECT_EQ(more->earlier.size(), 3u);
}

TEST(ModelTaskTest, AModelOfAsManyRunsAsCanBeListedIsNoBaseAndTheSentenceSaysWhatToDo) {
  const std::string directory = NewPath();
  std::vector<StoredTraining> earlier;
  for (int i = 0; i < 999; ++i) earlier.push_back({.config_text = absl::StrCat("run.seed = ", i, "\n"), .files = {}});
  ASSERT_OK(WriteModelTask(Files(), directory, HeaderOf(rl::Config()), earlier));
  const std::string text = ReadFile(Files(), directory + "/reprise.json", rl::kMostModelTaskBytes).value();
  EXPECT_THAT(ReadTrainings(Files(), directory, {{std::string(rl::kModelTaskName), Sha256(text)}}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("lists 1000 runs that trained the model, and no file lists more than 1000: train from "
                                 "a model with fewer, or remove the file")));
}

TEST(ModelTaskTest, TheTrainingsOfAModelAreThoseOfTheFileThatWasDigested) {
  const std::string model = ModelOn("", "exact_match");
  ASSERT_OK_AND_ASSIGN(const std::vector<StoredTraining> none, ReadTrainings(Files(), model, {}));
  EXPECT_TRUE(none.empty());
  EXPECT_THAT(ReadTrainings(Files(), model, {{std::string(rl::kModelTaskName), Sha256("other")}}).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("was changed while it was read: try again")));
}

TEST(ModelTaskTest, AFileThatNoRunWroteStays) {
  const std::string directory = NewPath(), path = directory + "/reprise.json", mine = "{\"mine\": 1}";
  ASSERT_OK(CreateDirectories(Files(), directory));
  ASSERT_OK(WriteFileAtomically(Files(), path, mine));
  EXPECT_THAT(WriteModelTask(Files(), directory, HeaderOf(rl::Config()), {}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("no run wrote it")));
  EXPECT_EQ(ReadFile(Files(), path, 100).value_or(""), mine);
}

TEST(ModelTaskTest, ADirectoryOfAnotherProgramHasNone) {
  ASSERT_OK_AND_ASSIGN(const std::optional<ModelTask> task, ReadModelTask(Files(), NewPath()));
  EXPECT_FALSE(task.has_value());
}

// The file may come from anywhere: it names no files of this machine, and nothing is taken from a damaged one.
TEST(ModelTaskTest, RejectsWhatTrainDoesNotWrite) {
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
  EXPECT_THAT(error(R"({"format": 2, "config": "", "files": {}})"),
              is("its format is 2; this program reads 1; --conf"));
  EXPECT_THAT(error(R"({"format": 1, "numeric_contract": 2, "config": "", "files": {}})"),
              is("/reprise.json: its numeric_contract is 2; this program reads 1; --config FILE"));
  EXPECT_THAT(
      error(R"({"format": 1, "numeric_contract": 1, "config": "[data]\npath = \"/etc/passwd\"\n", "files": {}})"),
      is("contains a path in data.path"));
  EXPECT_THAT(error(R"({"format": 1, "numeric_contract": 1, "config": "[execution]\nthreads = 2\n", "files": {}})"),
              is("execution.threads"));
  EXPECT_THAT(error(R"({"format": 1, "numeric_contract": 1, "config": "", "files": {"data/problems": "12"}})"),
              is("; --config FILE"));
  EXPECT_THAT(error(R"({"format": 1, "numeric_contract": 1, "config": "", "files": {}, "trust_remote_code": true})"),
              is("/reprise.json: it has the unknown member \"trust_remote_code\": remove it"));
}

}  // namespace
}  // namespace reprise
