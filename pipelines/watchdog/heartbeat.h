#ifndef PIPELINES_WATCHDOG_HEARTBEAT_H_
#define PIPELINES_WATCHDOG_HEARTBEAT_H_

// What each rank says of itself, in a small file that the others read, and the files of an alarm. The calls go to the
// operating system directly: those of core/io are signs of life of the run, and these must not be.
//
// In DIRECTORY, START being the name of an execution:
//   START.rank3            the heartbeat of rank 3, written in place, removed by an execution that ends
//   START.alarm            what the rank that raised the alarm found; exists from that moment on
//   START.rank3.report     what rank 3 knew at that time, with the stacks of its threads

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

struct Heartbeat {
  enum State : int { kRunning, kReported, kGone };  // kGone: there is no file

  int64_t beat = 0;  // counts the writes
  State state = kRunning;
  int rank = 0;
  std::string host = {};
  std::string machine = {};  // of processes that see each other: the kernel's boot and the namespace of process numbers
  pid_t pid = 0;
  int64_t pid_start = 0;  // when the process started, in the kernel's ticks
  uint64_t phase = 0;     // RunPhase::Pack
  int64_t in_phase_ms = 0;
  int64_t calls = 0;           // collectives started
  std::string last_call = {};  // the last one's name
};

inline constexpr size_t kHeartbeatBytes = 512;

// Returns kHeartbeatBytes bytes: one line of text, padded.
std::string EncodeHeartbeat(const Heartbeat& heartbeat);
// Returns nothing for bytes that are no heartbeat: the file may be read while it is written.
std::optional<Heartbeat> DecodeHeartbeat(absl::string_view bytes);

// Fills in host, machine, pid and pid_start of this process.
void DescribeThisProcess(Heartbeat* heartbeat);
// Returns when the process `pid` started, in the kernel's ticks; nothing if there is none.
std::optional<int64_t> StartOfProcess(pid_t pid);

class WatchdogFiles {
 public:
  // Creates nothing. `prefix` is DIRECTORY/START.
  explicit WatchdogFiles(std::string prefix) : prefix_(std::move(prefix)) {}

  std::string RankPath(int rank) const { return prefix_ + ".rank" + std::to_string(rank); }
  std::string ReportPath(int rank) const { return RankPath(rank) + ".report"; }
  std::string AlarmPath() const { return prefix_ + ".alarm"; }

  // Returns whether it was written.
  bool Write(const Heartbeat& heartbeat) const;
  // Returns kGone without a file: the rank has not begun, or has left the run. Returns nothing for an unreadable one.
  std::optional<Heartbeat> Read(int rank) const;
  void Remove(int rank) const;

  // Returns false if another rank has already raised an alarm, or if it cannot be written.
  bool RaiseAlarm(absl::string_view text) const;
  // Returns nothing without an alarm.
  std::optional<std::string> ReadAlarm() const;

  bool WriteReport(int rank, absl::string_view text) const;
  bool HasReport(int rank) const;

 private:
  std::string prefix_;
};

// Removes the heartbeats of all executions from `directory`, at the end of a run, and then the directory unless there
// are reports or other files in it. Does nothing if it is a link.
void RemoveHeartbeats(const std::string& directory);

}  // namespace reprise

#endif  // PIPELINES_WATCHDOG_HEARTBEAT_H_
