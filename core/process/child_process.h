#ifndef CORE_PROCESS_CHILD_PROCESS_H_
#define CORE_PROCESS_CHILD_PROCESS_H_

// Another program that is asked line by line: a line to its standard input, a line from its standard output. Its
// standard error is this program's.

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

inline constexpr size_t kMostReplyBytes = size_t{1} << 26;

// Not thread-safe; different processes may be used by different threads.
class ChildProcess {
 public:
  // Starts `/bin/sh -c command` as the leader of a process group of its own, so that a signal from the terminal does
  // not reach it and whatever it starts can be ended with it. Errors: those of the system calls. A command that the
  // shell does not find is seen by the first Exchange.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const std::string& command);

  // Closes its input, gives it a second to end, then kills its group; never leaves a zombie.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Sends `line`, which holds no line feed, with one, and returns the next line of its output without that. Within
  // `seconds` in all, however the program reads and writes. After an error it is of no use any more:
  //   Aborted             it has ended: "exited with code 3 after half a line", "was killed by signal 9"
  //   DeadlineExceeded    no whole line came in time
  //   DataLoss            it said something unasked, or a line of more than kMostReplyBytes
  absl::StatusOr<std::string> Exchange(absl::string_view line, double seconds);

 private:
  ChildProcess(pid_t pid, int input, int output) : pid_(pid), input_(input), output_(output) {}

  absl::Status Ended();
  // Appends what there is to read; false at the end of its output.
  absl::StatusOr<bool> Read();

  const pid_t pid_;
  int input_, output_;  // ours; -1: closed
  bool is_reaped_ = false;
  std::string received_;
};

}  // namespace reprise

#endif  // CORE_PROCESS_CHILD_PROCESS_H_
