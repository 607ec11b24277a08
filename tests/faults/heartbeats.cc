#include "tests/faults/heartbeats.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/programs/process.h"

namespace reprise::testing {

std::set<std::string> WatchdogFilesIn(const std::string& directory, const std::string& ending) {
  std::set<std::string> paths;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/watchdog", missing)) {
    if (entry.path().string().ends_with(ending)) paths.insert(entry.path().string());
  }
  return paths;
}

std::optional<pid_t> FindProcess(const std::string& directory, int rank,
                                 const std::function<bool(const RunPhase&)>& is_there) {
  for (int attempts = 0; attempts < 3000; ++attempts) {
    for (const std::string& file : WatchdogFilesIn(directory, ".rank" + std::to_string(rank))) {
      const std::optional<Heartbeat> heartbeat = DecodeHeartbeat(Contents(file));
      // kill(0, ...) would end the test.
      if (heartbeat && heartbeat->pid > 1 && is_there(RunPhase::Unpack(heartbeat->phase))) return heartbeat->pid;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::nullopt;
}

}  // namespace reprise::testing
