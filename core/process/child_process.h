#ifndef CORE_PROCESS_CHILD_PROCESS_H_
#define CORE_PROCESS_CHILD_PROCESS_H_

// Another program that is asked line by line: a line to its standard input, a line from its standard output. Its
// standard error, environment and working directory are this program's; of this program's other files and sockets it
// has none. It ends with this program, however that ends.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

inline constexpr size_t kMostReplyBytes = size_t{1} << 26;

// Not thread-safe; different processes may be used by different threads.
class ChildProcess {
 public:
  // Starts `/bin/sh -c command` in a process group of its own, so that a signal from the terminal does not reach it and
  // whatever it starts can be ended with it. Errors: those of the system calls. A command that the shell does not find
  // is seen by the first Exchange.
  //
  // The group's leader is a second shell, the guard, which kills the group when this program is gone. The parent-death
  // signal of Linux would reach the first process of the group alone, and comes as soon as the thread ends that started
  // it. There is no moment at which the program runs without its guard: it holds the guard's pipe open until it has
  // joined the group.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const std::string& command);

  // Closes its input, gives it a second to end (none after an error), then kills its group; never leaves a zombie.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Sends `line`, which holds no line feed, with one, and returns the next line of its output without that. Within
  // `seconds` in all, however the program reads and writes; called_off is asked many times a second, null is never.
  // After an error it is of no use any more:
  //   Aborted             it has ended, whoever else holds its output: "exited with code 3 after half a line", "was
  //                       killed by signal 9"
  //   NotFound            its shell did not find or could not execute it
  //   DeadlineExceeded    no whole line came in time
  //   Cancelled           it was called off
  //   DataLoss            it said something unasked, or a line of more than kMostReplyBytes
  absl::StatusOr<std::string> Exchange(absl::string_view line, double seconds,
                                       const std::function<bool()>& called_off = nullptr);

  // Tells it to end: the destructor's second counts from here.
  void CloseInput();

 private:
  struct Ends {
    int input = -1, output = -1;  // of the program's
    int leash = -1;               // the guard's input
  };
  ChildProcess(pid_t guard, pid_t pid, const Ends& ends) : guard_(guard), pid_(pid), ends_(ends) {}

  absl::StatusOr<std::string> TryExchange(absl::string_view line, double seconds,
                                          const std::function<bool()>& called_off);
  // Writes what the program takes of `unsent`.
  absl::Status Write(absl::string_view* unsent);
  // Appends what there is to read; false at the end of its output.
  absl::StatusOr<bool> Read();
  // The reply, if it has come whole; none: not yet.
  absl::StatusOr<std::optional<std::string>> TakeReply(bool all_is_sent);
  absl::Status Unasked(absl::string_view text) const;
  absl::Status Ended() const;

  const pid_t guard_, pid_;
  Ends ends_;  // ours; -1: closed
  bool has_replied_ = false, has_failed_ = false;
  std::optional<double> told_to_end_;  // when, by a clock that does not jump
  std::string received_;
};

}  // namespace reprise

#endif  // CORE_PROCESS_CHILD_PROCESS_H_
