#ifndef CORE_PROCESS_SPAWN_H_
#define CORE_PROCESS_SPAWN_H_

// The system calls of core/process: start a shell, query it without reaping it, and reap it.

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace reprise {

struct ShellOptions {
  std::vector<std::string> arguments;  // of /bin/sh
  int input = -1, output = -1;         // -1: the null device
  bool has_error_output = false;       // inherits this program's; otherwise the null device
  pid_t group = 0;                     // to join; 0: a new group, which it leads
  bool blocks_signals = false;         // all that can be blocked, from its first instruction on; otherwise SIGUSR1
};

// Starts /bin/sh with only those of this program's files and sockets, no signal ignored or handled, and this program's
// environment and working directory.
absl::StatusOr<pid_t> StartShell(const ShellOptions& options);

// Returns whether the child has ended, and how. It stays a zombie, so that its process id is not reused.
bool HasEnded(pid_t child, siginfo_t* how);

// Waits for the child's end and reaps it; returns whether it exited with code 0.
bool Reap(pid_t child);

}  // namespace reprise

#endif  // CORE_PROCESS_SPAWN_H_
