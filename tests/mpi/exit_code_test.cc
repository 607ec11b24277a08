// Promise: with several ranks only one prints errors, and mpirun returns the program's exit code.

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kSmallRun[] = "tests/determinism/small.toml";

int64_t Occurrences(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

ProcessResult TrainInto(const std::string& directory, int ranks, const std::string& override) {
  return RunProgramOnRanks({.ranks = ranks},
                           {"pipelines/train", kSmallRun, "--output", directory, "--quiet", "--set", override});
}

void ExpectOneError(const ProcessResult& process, int exit_code, const std::string& message) {
  EXPECT_EQ(process.exit_code, exit_code);
  EXPECT_EQ(Occurrences(process.err, "error:"), 1) << process.err;
  EXPECT_THAT(process.err, HasSubstr(message));
}

TEST(ExitCodeTest, AWrongKeyGives64AndOneError) {
  ExpectOneError(TrainInto(UniqueTemporaryPath(), 3, "rollout.num_generation=4"), 64, "rollout.num_generations");
}

TEST(ExitCodeTest, MoreRanksThanShardsGive64AndOneError) {
  const std::string directory = UniqueTemporaryPath();
  ExpectOneError(TrainInto(directory, 3, "run.logical_shards=2"), 64, "3 ranks for 2 logical shards");
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST(ExitCodeTest, ADirectoryWithARunGives64AndOneErrorAndKeepsTheRun) {
  const TrainedRun run = Train(kSmallRun, {}, {.ranks = 2});
  const std::string before = Contents(run.file());
  ExpectOneError(TrainInto(run.directory, 2, "run.seed=8"), 64, run.directory);
  EXPECT_EQ(Contents(run.file()), before);
}

TEST(ExitCodeTest, AFileInThePlaceOfADirectoryGives64AndOneError) {
  const std::string file = UniqueTemporaryPath();
  std::ofstream(file) << "in the way";
  ExpectOneError(TrainInto(file + "/run", 2, "run.seed=8"), 64, file);
}

TEST(ExitCodeTest, ACorruptRunGives65AndOneError) {
  const TrainedRun run = Train(kSmallRun, {}, {});
  std::filesystem::resize_file(run.file(), 1000);
  const Verdict verdict = Reproduce(run.file(), "replay", {.ranks = 2});
  ExpectOneError(verdict.process, 65, "run.h5");
  EXPECT_FALSE(verdict.given);
}

}  // namespace
}  // namespace reprise::testing
