// A run file without one of its checkpoints, whose digests are right: `reproduce` accepts it only where an interruption
// explains what is missing, and `train --resume` does not continue it.

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/run_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipelines/stored/stored_run.h"
#include "rl/run/artifact_sink.h"
#include "rl/run/step_number.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

// Eight steps with checkpoints of the steps 3, 6 and 8.
std::vector<std::string> EightSteps(int keep, const std::string& schedule = "constant") {
  return {"run.steps=8", "artifact.checkpoint_every=3", absl::StrCat("artifact.keep_checkpoints=", keep),
          absl::StrCat("optimizer.schedule=", schedule)};
}

std::vector<std::string> TrainArguments(const std::string& directory, const std::vector<std::string>& overrides) {
  std::vector<std::string> arguments = {WriteFile(MakeDirectory(), "tiny.toml", kTinyRun), "--output", directory,
                                        "--quiet"};
  for (const std::string& pair : overrides) arguments.insert(arguments.end(), {"--set", pair});
  return arguments;
}

// Writes the first `steps` steps of a run, without the checkpoints of `missing`, to a new directory and returns it.
std::string Copy(const std::string& run, int64_t steps, const std::set<int64_t>& missing, bool is_finished) {
  std::string directory = MakeDirectory() + "/copy";
  const absl::StatusOr<StoredRun> stored = OpenStoredRun(run);
  if (!stored.ok()) ADD_FAILURE() << stored.status();
  if (!stored.ok()) return directory;
  const rl::Config& config = stored->config;
  absl::StatusOr<RunWriter> writer =
      RunWriter::Create(PosixFileSystem(), directory, stored->reader->header(), rl::MakeRunWriterOptions(config));
  EXPECT_OK(writer.status());
  for (const rl::StepTables& step : stored->steps) {
    const int64_t number = rl::ArtifactStep(config, step.phase, step.step);
    if (number > steps) break;
    EXPECT_OK(writer->CommitStep(number, step.tables));
    for (const CheckpointInfo& info : stored->reader->checkpoints()) {
      if (info.step != number || missing.contains(number)) continue;
      const absl::StatusOr<std::vector<Tensor>> tensors = stored->reader->ReadCheckpoint(number, info.group);
      EXPECT_OK(tensors.status());
      std::vector<TensorView> views;
      for (const Tensor& tensor : *tensors) views.push_back(tensor.view());
      EXPECT_OK(writer->AddCheckpoint(number, info.group, views));
    }
  }
  EXPECT_OK(is_finished ? writer->Finish().status() : writer->Flush());
  return directory;
}

struct Case {
  std::string what;
  std::vector<std::string> overrides;
  int64_t stop_after_step;
  std::set<int64_t> missing;
  bool is_finished;
  int exit_code;
};

TEST(MissingCheckpointTest, IsExcusedOnlyWhereAnInterruptionExplainsIt) {
  for (const Case& tried :
       std::vector<Case>{{"nothing", EightSteps(0), 8, {}, true, 0},
                         {"nothing, of an unfinished run", EightSteps(0), 8, {}, false, 0},
                         {"one of several", EightSteps(0), 8, {3}, true, 1},
                         {"one of several of an unfinished run", EightSteps(0), 8, {3}, false, 1},
                         {"that of the last step", EightSteps(0), 6, {6}, true, 1},
                         {"that of the last step of an unfinished run", EightSteps(0), 6, {6}, false, 0},
                         {"the only one, of the last step", EightSteps(1), 6, {3, 6}, true, 1},
                         {"the oldest, and the last step has one", EightSteps(2), 6, {3}, true, 1},
                         {"the oldest, maybe displaced by that of an earlier end", EightSteps(2), 7, {3}, true, 0},
                         {"the oldest, and earlier ends are recorded", EightSteps(2, "cosine"), 7, {3}, true, 1},
                         {"all that are kept", EightSteps(2), 7, {3, 6}, true, 1}}) {
    const std::string directory = MakeDirectory() + "/run";
    std::vector<std::string> arguments = TrainArguments(directory, tried.overrides);
    arguments.insert(arguments.end(), {"--stop-after-step", absl::StrCat(tried.stop_after_step)});
    ASSERT_EQ(RunVerb("train", arguments).exit_code, 0);
    const std::string copy = Copy(directory + "/run.h5", tried.stop_after_step, tried.missing, tried.is_finished);
    const ProcessResult result = RunVerb("reproduce", {copy, "--quiet"});
    EXPECT_EQ(result.exit_code, tried.exit_code) << "missing: " << tried.what << "; " << result.err;
  }
}

TEST(MissingCheckpointTest, OfARunThatIsExtendedLeavesTheRunAsItIs) {
  const std::string directory = MakeDirectory() + "/run";
  ASSERT_EQ(RunVerb("train", TrainArguments(directory, EightSteps(0))).exit_code, 0);
  const std::string copy = Copy(directory + "/run.h5", 8, {3}, true), bytes = Contents(copy + "/run.h5");
  std::vector<std::string> overrides = EightSteps(0);
  overrides[0] = "run.steps=9";
  std::vector<std::string> arguments = TrainArguments(copy, overrides);
  arguments.push_back("--resume");
  for (int i = 0; i < 2; ++i) {
    const ProcessResult result = RunVerb("train", arguments);
    EXPECT_EQ(result.exit_code, 65);
    EXPECT_THAT(result.err, HasSubstr("run.h5 contains no checkpoint of training step 3, but its configuration stores "
                                      "one: the run cannot be continued"));
    EXPECT_EQ(Contents(copy + "/run.h5"), bytes);
  }
}

}  // namespace
}  // namespace reprise::testing
