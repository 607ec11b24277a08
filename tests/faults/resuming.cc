#include "tests/faults/resuming.h"

#include <csignal>
#include <filesystem>
#include <map>

#include "core/digest/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

constexpr int kExitConfiguration = 64;

// The watchdog's reports of the ranks that outlived a killed one are left to be read.
bool IsReport(const std::string& name) { return name == "watchdog" || name.starts_with("watchdog/"); }

// Returns the names and SHA-256 of all files except execution.jsonl, which describes each process. The digest of a
// directory is empty.
std::map<std::string, std::string> DigestsIn(const std::string& directory) {
  std::map<std::string, std::string> digests;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const std::string name = std::filesystem::relative(entry.path(), directory);
    if (IsReport(name)) continue;
    const bool has_digest = entry.is_regular_file() && name != "execution.jsonl";
    const bool has_times = name == "metrics.jsonl";
    digests[name] =
        has_digest ? ToHex(Sha256(has_times ? MetricsWithoutTimes(directory) : Contents(entry.path()))) : "";
  }
  return digests;
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

std::string CopyDirectory(const std::string& directory) {
  std::string copy = UniqueTemporaryPath();
  std::filesystem::copy(directory, copy, std::filesystem::copy_options::recursive);
  return copy;
}

void ExpectEndsAs(const SmallRun& run, const SmallRun& undisturbed) {
  ASSERT_EQ(run.process.exit_code, 0) << run.process.err;
  EXPECT_EQ(run.process.out, undisturbed.process.out);
  EXPECT_EQ(DigestsIn(run.directory), DigestsIn(undisturbed.directory));
}

void ExpectSurvives(const Injection& injection, const SmallRunOptions& options, const SmallRun& undisturbed,
                    int ranks_after) {
  const SmallRun killed = TrainSmallRun(injection, options);
  SCOPED_TRACE("killed at call " + std::to_string(injection.call) + " (" + injection.fault +
               "): " + (killed.calls.empty() ? "none" : killed.calls.back().text()));
  EXPECT_EQ(killed.process.exit_code, 128 + SIGKILL) << killed.process.err;
  SmallRunOptions after = options;
  after.ranks = ranks_after;
  ExpectEndsAs(Resume(killed.directory, after), undisturbed);
  std::filesystem::remove_all(killed.directory);
}

Injection KillAt(int64_t call, bool torn) {
  if (torn) return {.fault = "torn", .call = call};
  return {.fault = "signal", .call = call, .signal = SIGKILL};
}

}  // namespace reprise::testing
