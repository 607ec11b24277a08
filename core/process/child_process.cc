#include "core/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

extern char** environ;

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSecondsToEnd = 1, kSecondsToTellHow = 0.5;
constexpr char kShell[] = "/bin/sh";

void Close(int* descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

struct Pipe {
  int read = -1, write = -1;
  ~Pipe() { Close(&read), Close(&write); }
};

absl::Status Open(Pipe* pipe) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FileError(errno, "open", "a pipe");
  pipe->read = ends[0], pipe->write = ends[1];
  return absl::OkStatus();
}

// A broken pipe is an error of the call and no signal to this program: SIGPIPE is held back from this thread, and what
// the write itself raised is taken away.
ssize_t WriteWithoutSignal(int descriptor, absl::string_view bytes) {
  sigset_t broken_pipe, before, pending;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  const ssize_t written = write(descriptor, bytes.data(), bytes.size());
  const int error = errno;
  if (written < 0 && error == EPIPE && !was_pending) {
    const timespec at_once = {};
    while (sigtimedwait(&broken_pipe, nullptr, &at_once) < 0 && errno == EINTR) continue;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

// Waits until the process has ended, but no longer than `seconds`.
bool Reap(pid_t pid, double seconds, int* status) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const pid_t reaped = waitpid(pid, status, WNOHANG);
    if (reaped == pid || (reaped < 0 && errno != EINTR)) return true;
    if (Clock::now() >= end) return false;
    const timespec pause = {.tv_sec = 0, .tv_nsec = 2'000'000};
    nanosleep(&pause, nullptr);
  }
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) return absl::StrCat("was killed by signal ", WTERMSIG(status));
  return absl::StrCat("exited with code ", WEXITSTATUS(status));
}

int MillisecondsUntil(Clock::time_point deadline) {
  const double left = std::chrono::duration<double>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp(std::ceil(left * 1000), 0.0, 1e9));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(const std::string& command) {
  Pipe to, from;
  RETURN_IF_ERROR(Open(&to));
  RETURN_IF_ERROR(Open(&from));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from.write, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  char* const arguments[] = {const_cast<char*>(kShell), const_cast<char*>("-c"), const_cast<char*>(command.c_str()),
                             nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, kShell, &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return FileError(error, "start", kShell);
  fcntl(to.write, F_SETFL, O_NONBLOCK);
  fcntl(from.read, F_SETFL, O_NONBLOCK);
  std::unique_ptr<ChildProcess> process(new ChildProcess(pid, to.write, from.read));
  to.write = from.read = -1;
  return process;
}

ChildProcess::~ChildProcess() {
  Close(&input_);
  Close(&output_);
  int status = 0;
  const bool is_reaped = is_reaped_ || Reap(pid_, kSecondsToEnd, &status);
  kill(-pid_, SIGKILL);  // what is left of its group
  if (!is_reaped) {
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  }
}

absl::Status ChildProcess::Ended() {
  const std::string amid = received_.empty() ? "" : " after half a line";
  int status = 0;
  // The end of its output comes a moment before its own; without that it has closed its output and lives on.
  if (!is_reaped_ && !Reap(pid_, kSecondsToTellHow, &status)) {
    return absl::AbortedError(absl::StrCat("closed its output", amid));
  }
  is_reaped_ = true;
  return absl::AbortedError(absl::StrCat(HowItEnded(status), amid));
}

absl::StatusOr<bool> ChildProcess::Read() {
  char bytes[65536];
  const ssize_t size = read(output_, bytes, sizeof(bytes));
  if (size == 0) return false;
  if (size < 0) {
    if (errno == EAGAIN || errno == EINTR) return true;
    return FileError(errno, "read from", "a process");
  }
  received_.append(bytes, static_cast<size_t>(size));
  if (received_.size() > kMostReplyBytes) {
    return absl::DataLossError(absl::StrCat("wrote a line of more than ", kMostReplyBytes, " bytes"));
  }
  return true;
}

absl::StatusOr<std::string> ChildProcess::Exchange(absl::string_view line, double seconds) {
  CHECK(line.find('\n') == absl::string_view::npos);
  ASSIGN_OR_RETURN(const bool is_open, Read());
  if (!is_open) return Ended();
  if (!received_.empty()) return absl::DataLossError("wrote something that it was not asked for");
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const std::string request = absl::StrCat(line, "\n");
  absl::string_view unsent = request;
  for (;;) {
    pollfd polled[2] = {{.fd = output_, .events = POLLIN, .revents = 0},
                        {.fd = unsent.empty() ? -1 : input_, .events = POLLOUT, .revents = 0}};
    const int ready = poll(polled, 2, MillisecondsUntil(deadline));
    if (ready < 0 && errno != EINTR) return FileError(errno, "wait for", "a process");
    if (ready == 0) {
      const std::string amid = received_.empty() ? "" : ", only half a line";
      return absl::DeadlineExceededError(absl::StrCat("gave no reply within ", seconds, " seconds", amid));
    }
    if (ready < 0) continue;
    if (polled[1].revents != 0) {
      const ssize_t written = WriteWithoutSignal(input_, unsent);
      if (written > 0) unsent.remove_prefix(static_cast<size_t>(written));
      if (written < 0 && errno == EPIPE) return Ended();
      if (written < 0 && errno != EAGAIN && errno != EINTR) return FileError(errno, "write to", "a process");
    }
    if (polled[0].revents == 0) continue;
    ASSIGN_OR_RETURN(const bool goes_on, Read());
    const size_t end = received_.find('\n');
    if (end != std::string::npos) {
      if (end + 1 < received_.size()) return absl::DataLossError("wrote something that it was not asked for");
      if (!unsent.empty()) return absl::DataLossError("replied before it had read the whole request");
      std::string reply = received_.substr(0, end);
      received_.clear();
      return reply;
    }
    if (!goes_on) return Ended();
  }
}

}  // namespace reprise
