#ifndef CORE_PROCESS_CHILD_PROCESS_H_
#define CORE_PROCESS_CHILD_PROCESS_H_

// An external process that answers line by line: a line to its standard input, a line from its standard output. It
// inherits this program's standard error, environment and working directory, and none of its other files and sockets.
// It ends when this program ends, however that happens.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

inline constexpr size_t kMostReplyBytes = size_t{1} << 26;

// Not thread-safe; different processes may be used by different threads.
class ChildProcess {
 public:
  // Starts `/bin/sh -c command` in its own process group, so that a signal from the terminal does not reach it and the
  // processes that it starts can be ended with it. Errors: those of the system calls. The first Exchange reports a
  // command that the shell does not find.
  //
  // The group's leader is a second shell, the guard, which kills the group when this program has ended. Linux's
  // parent-death signal would reach only the first process of the group, and is sent when the thread that started it
  // ends. The child never runs without its guard: it holds the guard's pipe open until it has joined the group.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const std::string& command);

  // Closes the child's input, gives it a second to end (none after an error), then kills its group; leaves no zombie.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Sends `line`, which must not contain a line feed, and a line feed; returns the next line of output without its line
  // feed. Takes at most `seconds` in all, however the child reads and writes. Calls `cancelled`, unless it is null,
  // many times a second, and gives up when it returns true. After an error the child cannot be used any more:
  //   Aborted             it has ended, even if others hold its output open: "exited with code 3 after an incomplete
  //                       line", "was killed by signal 9"
  //   NotFound            its shell did not find or could not execute it
  //   DeadlineExceeded    no whole line arrived in time
  //   Cancelled           cancelled returned true
  //   DataLoss            it wrote output without a request, or a line of more than kMostReplyBytes
  absl::StatusOr<std::string> Exchange(absl::string_view line, double seconds,
                                       const std::function<bool()>& cancelled = nullptr);

  // Asks the child to end; the destructor's second starts here.
  void CloseInput();

 private:
  struct Ends {
    int input = -1, output = -1;  // of the child
    int leash = -1;               // the guard's input
  };
  ChildProcess(pid_t guard, pid_t pid, const Ends& ends) : guard_(guard), pid_(pid), ends_(ends) {}

  absl::StatusOr<std::string> TryExchange(absl::string_view line, double seconds,
                                          const std::function<bool()>& cancelled);
  // Writes as much of `unsent` as the child accepts now.
  absl::Status Write(absl::string_view* unsent);
  // Appends the output that is available; returns false at the end of the output.
  absl::StatusOr<bool> Read();
  // Returns the reply, or nullopt until it is complete.
  absl::StatusOr<std::optional<std::string>> TakeReply(bool all_is_sent);
  absl::Status Unasked(absl::string_view text) const;
  absl::Status Ended() const;

  const pid_t guard_, pid_;
  Ends ends_;  // this program's; -1: closed
  bool has_replied_ = false, has_failed_ = false;
  std::optional<double> end_is_requested_;  // the time, on a monotonic clock
  std::string received_;
};

// Returns InvalidArgument, with a remedy, if the first program of a /bin/sh command clearly does not exist or is not
// executable: a path, or a name that the shell does not know. A command that needs a shell to parse is not checked.
absl::Status CheckCommand(const std::string& command);

}  // namespace reprise

#endif  // CORE_PROCESS_CHILD_PROCESS_H_
