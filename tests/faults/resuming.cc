#include "tests/faults/resuming.h"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

constexpr int kExitConfiguration = 64;

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    names.push_back(std::filesystem::relative(entry.path(), directory));
  }
  std::sort(names.begin(), names.end());
  return names;
}

SmallRunOptions WithResume(SmallRunOptions options, const std::string& directory) {
  options.directory = directory;
  options.flags.push_back("--resume");
  return options;
}

bool IsClaimed(const std::string& directory) { return std::filesystem::exists(directory + "/epochs"); }

}  // namespace

SmallRun Resume(const std::string& directory, const SmallRunOptions& options, const Injection& injection) {
  const bool is_run = IsClaimed(directory) || std::filesystem::exists(directory + "/run.h5");
  SmallRun run = TrainSmallRun(injection, WithResume(options, directory));
  if (is_run || run.process.exit_code != kExitConfiguration) return run;
  SmallRunOptions afresh = options;
  afresh.directory = directory;
  return TrainSmallRun(injection, afresh);
}

void ExpectEndsAs(const SmallRun& run, const SmallRun& undisturbed) {
  ASSERT_EQ(run.process.exit_code, 0) << run.process.err;
  EXPECT_TRUE(run.run_bytes() == undisturbed.run_bytes()) << "another run.h5";
  EXPECT_TRUE(run.weights() == undisturbed.weights()) << "other weights";
  EXPECT_EQ(run.process.out, undisturbed.process.out);
  EXPECT_EQ(Contents(run.directory + "/metrics.jsonl"), Contents(undisturbed.directory + "/metrics.jsonl"));
  EXPECT_EQ(NamesIn(run.directory), NamesIn(undisturbed.directory));
}

void ExpectSurvives(const Injection& injection, const SmallRunOptions& options, const SmallRun& undisturbed) {
  const SmallRun killed = TrainSmallRun(injection, options);
  SCOPED_TRACE("killed at call " + std::to_string(injection.call) + " (" + injection.fault +
               "): " + (killed.calls.empty() ? "none" : killed.calls.back().text()));
  EXPECT_EQ(killed.process.exit_code, 128 + SIGKILL) << killed.process.err;
  ExpectEndsAs(Resume(killed.directory, options), undisturbed);
  std::filesystem::remove_all(killed.directory);
}

Injection KillAt(int64_t call, bool torn) {
  if (torn) return {.fault = "torn", .call = call};
  return {.fault = "signal", .call = call, .signal = SIGKILL};
}

}  // namespace reprise::testing
