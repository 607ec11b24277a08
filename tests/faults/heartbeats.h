#ifndef TESTS_FAULTS_HEARTBEATS_H_
#define TESTS_FAULTS_HEARTBEATS_H_

// The watchdog's files of a program that runs, read by a test.

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "pipelines/watchdog/heartbeat.h"
#include "pipelines/watchdog/phase_times.h"

namespace reprise::testing {

// Returns the paths of the files in `directory`/watchdog whose names end so.
std::set<std::string> WatchdogFilesIn(const std::string& directory, const std::string& ending);

// Returns the process of a rank as its heartbeat names it, once is_there(what the rank does) is true; nothing if it is
// not within 30 seconds.
std::optional<pid_t> FindProcess(const std::string& directory, int rank,
                                 const std::function<bool(const RunPhase&)>& is_there);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_HEARTBEATS_H_
