#include "pipelines/watchdog/watch_reader.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "core/comm/testing/thread_communicator.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

std::string NewRun(const std::string& name) {
  const std::string directory = ::testing::TempDir() + "/" + name;
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/run.h5") << "a run";
  return directory;
}

// Whether the ranks have had heartbeats within a second.
bool HaveHeartbeats(const std::string& directory) {
  for (int waits = 0; waits < 100; ++waits) {
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(directory + "/watchdog", missing)) {
      if (entry.path().extension() == ".rank2") return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(WatchReaderTest, RanksThatReadARunSeeEachOtherAndLeaveNothingBehind) {
  const std::string run = NewRun("shared");
  for (const std::string& read : {run, run + "/run.h5"}) {
    EXPECT_OK(RunAsRanks(3, [&](Communicator& comm) -> absl::Status {
      ASSIGN_OR_RETURN(const auto watchdog, WatchReader({.watchdog_seconds = 1}, "evaluation", read, comm));
      watchdog->Enter({.kind = RunPhase::kEvaluate});
      EXPECT_TRUE(HaveHeartbeats(run));
      return comm.Barrier();
    }));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(run), {}), 1) << "run.h5 alone";
  }
}

// Each would believe that the others are dead.
TEST(WatchReaderTest, RanksWithCopiesOfARunWatchOnlyThemselves) {
  const std::string copies[] = {NewRun("copy0"), NewRun("copy1"), NewRun("copy2")};
  EXPECT_OK(RunAsRanks(3, [&](Communicator& comm) -> absl::Status {
    const std::string& mine = copies[comm.rank()];
    ASSIGN_OR_RETURN(const auto watchdog, WatchReader({.watchdog_seconds = 0.1}, "evaluation", mine, comm));
    watchdog->Enter({.kind = RunPhase::kPrepare});
    EXPECT_FALSE(HaveHeartbeats(mine));
    return comm.Barrier();
  }));
  for (const std::string& copy : copies) {
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(copy), {}), 1) << copy;
  }
}

TEST(WatchReaderTest, ADirectoryThatCannotBeWrittenIsNoError) {
  EXPECT_OK(RunAsRanks(2, [&](Communicator& comm) {
    return WatchReader({.watchdog_seconds = 1}, "evaluation", "/proc/nowhere/run.h5", comm).status();
  }));
}

TEST(WatchReaderTest, WithoutAWatchdogThereIsNone) {
  const std::string run = NewRun("without");
  EXPECT_OK(RunAsRanks(2, [&](Communicator& comm) -> absl::Status {
    ASSIGN_OR_RETURN(const auto watchdog, WatchReader({.watchdog = false}, "evaluation", run, comm));
    EXPECT_EQ(watchdog, nullptr);
    return absl::OkStatus();
  }));
}

}  // namespace
}  // namespace reprise
