#ifndef CORE_COMM_MPI_START_GUARD_H_
#define CORE_COMM_MPI_START_GUARD_H_

// Open MPI ends a process in which it cannot start: MPI_Init prints what it knows and calls _exit(1), or exit(1),
// instead of returning an error. But an exit code of 1 is a verdict ("differs"), which a caller would believe. While a
// StartGuard lives, such an end is that of any other error: a sentence on stderr and an exit code, kExitRetry. For
// this, a program that links this library defines _exit for the libraries that it loads; without a guard it does what
// libc's does.

#include <sys/types.h>

#include <string>

namespace reprise {

// At most one lives at a time. A child process that is forked meanwhile ends as it wants to.
class StartGuard {
 public:
  explicit StartGuard(const std::string& sentence);
  StartGuard(const StartGuard&) = delete;
  StartGuard& operator=(const StartGuard&) = delete;
  ~StartGuard();

  // Returns whether the calling process is the guarded one.
  bool Guards() const;
  // Async-signal-safe.
  void Print() const;

 private:
  const pid_t process_;
  const std::string line_;
};

}  // namespace reprise

#endif  // CORE_COMM_MPI_START_GUARD_H_
