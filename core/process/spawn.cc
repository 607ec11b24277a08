#include "core/process/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "core/status/conditions.h"

extern char** environ;

namespace reprise {
namespace {

constexpr char kShell[] = "/bin/sh";

// The actions in the child, in this order, before the shell is executed.
class FileActions {
 public:
  explicit FileActions(const ShellOptions& options) {
    posix_spawn_file_actions_init(&actions_);
    Give(options.input, STDIN_FILENO, O_RDONLY);
    Give(options.output, STDOUT_FILENO, O_WRONLY);
    if (!options.has_error_output) Give(-1, STDERR_FILENO, O_WRONLY);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  void Give(int from, int to, int mode) {
    if (from < 0) {
      posix_spawn_file_actions_addopen(&actions_, to, "/dev/null", mode, 0);
    } else {
      posix_spawn_file_actions_adddup2(&actions_, from, to);
    }
  }

  posix_spawn_file_actions_t actions_;
};

class Attributes {
 public:
  Attributes(pid_t group, bool blocks_signals) {
    posix_spawnattr_init(&attributes_);
    sigset_t some, all;
    sigemptyset(&some);
    // A cluster sends it to all processes of a job, but it asks only the trainer to stop.
    sigaddset(&some, SIGUSR1);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, blocks_signals ? &all : &some);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, group);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

}  // namespace

absl::StatusOr<pid_t> StartShell(const ShellOptions& options) {
  const FileActions actions(options);
  const Attributes attributes(options.group, options.blocks_signals);
  std::vector<char*> arguments = {const_cast<char*>(kShell)};
  for (const std::string& argument : options.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, kShell, actions.get(), attributes.get(), arguments.data(), environ);
  if (error != 0) return FileError(error, "start", kShell);
  return pid;
}

bool HasEnded(pid_t child, siginfo_t* how) {
  *how = {};
  return waitid(P_PID, static_cast<id_t>(child), how, WEXITED | WNOHANG | WNOWAIT) != 0 || how->si_pid == child;
}

bool Reap(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status == 0;
}

}  // namespace reprise
