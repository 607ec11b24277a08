#ifndef CORE_PROCESS_SPAWN_H_
#define CORE_PROCESS_SPAWN_H_

// System calls of core/process: shells are started, and looked at without being forgotten.

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace reprise {

struct ShellOptions {
  std::vector<std::string> arguments;  // of /bin/sh
  int input = -1, output = -1;         // -1: the null device
  bool has_error_output = false;       // that of this program; otherwise the null device
  pid_t group = 0;                     // to join; 0: one of its own, which it leads
  bool blocks_signals = false;         // all that can be blocked, from its first instruction on; otherwise none
};

// Starts /bin/sh with no file or socket of this program's but those, no signal ignored or handled, and this program's
// environment and working directory.
absl::StatusOr<pid_t> StartShell(const ShellOptions& options);

// Whether the child has ended, and how; it stays a zombie, whose number nobody else can have.
bool HasEnded(pid_t child, siginfo_t* how);

// Waits for its end and forgets it; whether it exited with code 0.
bool Reap(pid_t child);

}  // namespace reprise

#endif  // CORE_PROCESS_SPAWN_H_
