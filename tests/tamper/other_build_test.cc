// Promise: the weights of a run are not lost because another build made it: one with keys or values of its own. This
// program takes them, says what it does not know, and where the build is recorded.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/programs/programs.h"
#include "tests/tamper/copy_run.h"

namespace reprise::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kSmallRun[] = "tests/determinism/small.toml";
constexpr char kWhere[] = "execution.jsonl in the run's folder has its \"revision\"";
constexpr char kTaskFile[] = "reprise.json";
constexpr int kDataLoss = 65;

const TrainedRun& Original() {
  static const auto* const run = new TrainedRun(Train(kSmallRun, {}, {}));
  return *run;
}

// Returns the path of a copy of the run as a build would have made it that knows these lines.
std::string WithLines(const std::vector<std::string>& lines) {
  const auto add = [&](RunHeader& header) {
    for (const std::string& line : lines) {
      std::string& text = header.config_text;
      const size_t begin = text.find(line.substr(0, line.find('=')));
      if (begin != std::string::npos) text.erase(begin, text.find('\n', begin) + 1 - begin);
      text += line + "\n";
    }
  };
  const std::string path = UniqueTemporaryPath() + ".h5";
  std::ofstream(path, std::ios::binary) << CopyRun(Contents(Original().file()), {.header = add}).value();
  return path;
}

ProcessResult Export(const std::string& run, const std::string& output) {
  return RunProcess({"pipelines/export", run, "--output", output}, {});
}

const std::vector<std::string> kOwnLoss = {"algorithm.loss_type = \"spo\"", "algorithm.spo_window = 3",
                                           "spo.depth = 2"};

TEST(OtherBuildTest, TheWeightsOfARunWithAnUnknownConfigurationAreExported) {
  const std::string run = WithLines(kOwnLoss), expected = UniqueTemporaryPath(), output = UniqueTemporaryPath();
  ASSERT_EQ(Export(Original().file(), expected).exit_code, 0);
  const ProcessResult exported = Export(run, output);
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  for (const std::string& line : kOwnLoss) EXPECT_THAT(exported.err, HasSubstr(line));
  EXPECT_THAT(exported.err, HasSubstr(kWhere));
  for (const auto& file : std::filesystem::directory_iterator(expected)) {
    const std::string name = file.path().filename();
    if (name == kTaskFile) continue;
    EXPECT_EQ(Contents(output + "/" + name), Contents(file.path())) << name;
  }
  // The model's task is that of its own run.
  EXPECT_THAT(Contents(absl::StrCat(output, "/", kTaskFile)), HasSubstr("algorithm.spo_window = 3"));
  const ProcessResult evaluated = RunProcess({"pipelines/evaluate", output}, {});
  EXPECT_EQ(evaluated.exit_code, kDataLoss);
  EXPECT_THAT(evaluated.err, AllOf(HasSubstr("algorithm.loss_type is \"spo\""), HasSubstr("--config FILE")));
}

TEST(OtherBuildTest, ItsFileIsShownAndItsExecutionIsRejectedWithThePlaceOfTheRevision) {
  const std::string run = WithLines(kOwnLoss);
  const ProcessResult shown = RunProcess({"pipelines/inspect", run}, {});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("spo"), HasSubstr("numeric contract")));
  EXPECT_THAT(shown.err, HasSubstr(kWhere));
  const ProcessResult executed = RunProcess({"pipelines/reproduce", run}, {});
  EXPECT_EQ(executed.exit_code, kDataLoss);
  EXPECT_THAT(executed.err, AllOf(HasSubstr("spo"), HasSubstr(kWhere)));
}

TEST(OtherBuildTest, AnotherRunStartsFromItsWeights) {
  const std::string output = UniqueTemporaryPath();
  const ProcessResult trained = RunProcess({"pipelines/train", kSmallRun, "--output", output, "--set", "run.steps=1",
                                            "--set", "sft.steps=0", "--init-from", WithLines(kOwnLoss)},
                                           {});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.err, AllOf(HasSubstr("algorithm.spo_window = 3"), HasSubstr("is not checked")));
}

TEST(OtherBuildTest, WeightsOfAModelThatIsNotKnownAreRejected) {
  const std::string output = UniqueTemporaryPath();
  const ProcessResult refused = Export(WithLines({"model.hidden_size = \"wide\"", "spo.depth = 2"}), output);
  EXPECT_EQ(refused.exit_code, kDataLoss) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("model.hidden_size = \"wide\""), HasSubstr(kWhere)));
  EXPECT_FALSE(std::filesystem::exists(output));
}

TEST(OtherBuildTest, WhatNoRunStoresIsRejectedBesideUnknownLines) {
  const std::string output = UniqueTemporaryPath();
  for (const std::string line : {"execution.threads = 512", "model.path = \"/dev\""}) {
    const ProcessResult refused = Export(WithLines({line, "spo.depth = 2"}), output);
    EXPECT_EQ(refused.exit_code, kDataLoss) << refused.err;
  }
  EXPECT_FALSE(std::filesystem::exists(output));
}

}  // namespace
}  // namespace reprise::testing
