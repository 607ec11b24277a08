#include "core/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/process/spawn.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

constexpr double kSecondsToEnd = 1, kSecondsToTellHow = 0.5;
constexpr int kMillisecondsBetweenLooks = 50;
constexpr size_t kQuotedBytes = 120;  // at most, of a line that was not asked for
// A shell's exit codes for a program that it could not execute or did not find.
constexpr int kCannotExecute = 126, kNotFound = 127;

// The guard leads the process group. It reads the child's process id, then waits for the end of its input, whose other
// end only this program holds. Signals to the group are blocked in the guard before its first instruction, because the
// child may send some before a shell could have set a trap.
constexpr char kGuard[] = "read -r program; read -r end; kill -9 $program 0";

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

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

// Returns a broken pipe as an error instead of raising a signal: SIGPIPE is blocked in this thread, and the one that
// the write itself raised is consumed.
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

// Waits until the process has ended, but not beyond `end`; returns whether it has ended.
bool WaitForEnd(pid_t pid, double end, siginfo_t* how) {
  while (!HasEnded(pid, how)) {
    if (Now() >= end) return false;
    const timespec pause = {.tv_sec = 0, .tv_nsec = 2'000'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

void KillGroup(pid_t guard) {
  kill(-guard, SIGKILL);
  Reap(guard);
}

constexpr absl::string_view kMeansSomethingToTheShell = "$`\"'\\*?[]{}~;&|<>()#!\n";

// NAME=value.
bool IsAssignment(absl::string_view word) {
  const size_t equals = word.find('=');
  if (equals == 0 || equals == absl::string_view::npos || absl::ascii_isdigit(word[0])) return false;
  for (const char c : word.substr(0, equals)) {
    if (!absl::ascii_isalnum(c) && c != '_') return false;
  }
  return true;
}

// Returns the first word that names a program, or "" if that is not obvious.
std::string ProgramOf(const std::string& command) {
  for (const absl::string_view word : absl::StrSplit(command, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
    if (word.find_first_of(kMeansSomethingToTheShell) != absl::string_view::npos) return "";
    if (word.substr(0, 5) == "PATH=") return "";
    if (word != "exec" && !IsAssignment(word)) return std::string(word);
  }
  return "";
}

absl::Status CheckPath(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return absl::InvalidArgumentError(absl::StrCat("there is no ", Quoted(path)));
  if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(Quoted(path), " is a directory"));
  if (access(path.c_str(), X_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Quoted(path), " is not executable: name its interpreter, as \"python3 ", Printable(path), "\", or chmod +x it"));
}

// Keywords, builtins and programs of PATH.
absl::Status CheckName(const std::string& name) {
  ASSIGN_OR_RETURN(const pid_t shell, StartShell({.arguments = {"-c", "command -v \"$1\" >/dev/null", "sh", name}}));
  if (Reap(shell)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("there is no program ", Quoted(name), " in PATH"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(const std::string& command) {
  Pipe to, from, leash;
  for (Pipe* pipe : {&to, &from, &leash}) RETURN_IF_ERROR(Open(pipe));
  ASSIGN_OR_RETURN(const pid_t guard,
                   StartShell({.arguments = {"-c", kGuard}, .input = leash.read, .blocks_signals = true}));
  const absl::StatusOr<pid_t> pid = StartShell(
      {.arguments = {"-c", command}, .input = to.read, .output = from.write, .has_error_output = true, .group = guard});
  if (!pid.ok()) {
    KillGroup(guard);
    return pid.status();
  }
  WriteWithoutSignal(leash.write, absl::StrCat(*pid, "\n"));
  fcntl(to.write, F_SETFL, O_NONBLOCK);
  fcntl(from.read, F_SETFL, O_NONBLOCK);
  std::unique_ptr<ChildProcess> process(
      new ChildProcess(guard, *pid, {.input = to.write, .output = from.read, .leash = leash.write}));
  to.write = from.read = leash.write = -1;
  return process;
}

void ChildProcess::CloseInput() {
  Close(&ends_.input);
  if (!end_is_requested_) end_is_requested_ = Now();
}

ChildProcess::~ChildProcess() {
  CloseInput();
  Close(&ends_.output);
  siginfo_t how;
  if (!has_failed_) WaitForEnd(pid_, *end_is_requested_ + kSecondsToEnd, &how);
  kill(pid_, SIGKILL);  // it may have left the group
  KillGroup(guard_);
  Reap(pid_);
  Close(&ends_.leash);
}

absl::Status ChildProcess::Ended() const {
  const std::string amid = received_.empty() ? "" : " after an incomplete line";
  siginfo_t how;
  // The output ends shortly before the process does; a process that does not end has only closed its output.
  if (!WaitForEnd(pid_, Now() + kSecondsToTellHow, &how)) {
    return absl::AbortedError(absl::StrCat("closed its output", amid));
  }
  if (how.si_code != CLD_EXITED) {
    return absl::AbortedError(absl::StrCat("was killed by signal ", how.si_status, amid));
  }
  const std::string code = absl::StrCat("exited with code ", how.si_status);
  if (!has_replied_ && (how.si_status == kNotFound || how.si_status == kCannotExecute)) {
    return absl::NotFoundError(
        absl::StrCat(code, ", which means that the shell ",
                     how.si_status == kNotFound ? "found no such program" : "could not execute the program"));
  }
  return absl::AbortedError(absl::StrCat(code, amid));
}

absl::Status ChildProcess::Unasked(absl::string_view text) const {
  return absl::DataLossError(absl::StrCat("wrote output without a request: ", Quoted(text, kQuotedBytes)));
}

absl::Status ChildProcess::Write(absl::string_view* unsent) {
  const ssize_t written = WriteWithoutSignal(ends_.input, *unsent);
  if (written > 0) unsent->remove_prefix(static_cast<size_t>(written));
  if (written >= 0 || errno == EAGAIN || errno == EINTR) return absl::OkStatus();
  return errno == EPIPE ? Ended() : FileError(errno, "write to", "a process");
}

absl::StatusOr<bool> ChildProcess::Read() {
  char bytes[65536];
  const ssize_t size = read(ends_.output, bytes, sizeof(bytes));
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

absl::StatusOr<std::optional<std::string>> ChildProcess::TakeReply(bool all_is_sent) {
  const size_t end = received_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  if (end + 1 < received_.size()) {  // a message may have come first, and the reply to the request behind it
    const absl::string_view received = received_;
    return absl::DataLossError(
        absl::StrCat("wrote output without a request: ", Quoted(received.substr(0, end), kQuotedBytes), " and then ",
                     Quoted(received.substr(end + 1), kQuotedBytes)));
  }
  if (!all_is_sent) return absl::DataLossError("replied before it had read the whole request");
  std::string reply = received_.substr(0, end);
  received_.clear();
  return reply;
}

absl::StatusOr<std::string> ChildProcess::Exchange(absl::string_view line, double seconds,
                                                   const std::function<bool()>& cancelled) {
  absl::StatusOr<std::string> reply = TryExchange(line, seconds, cancelled);
  (reply.ok() ? has_replied_ : has_failed_) = true;
  return reply;
}

absl::StatusOr<std::string> ChildProcess::TryExchange(absl::string_view line, double seconds,
                                                      const std::function<bool()>& cancelled) {
  CHECK(line.find('\n') == absl::string_view::npos);
  ASSIGN_OR_RETURN(const bool is_open, Read());
  if (!is_open) return Ended();
  if (!received_.empty()) return Unasked(received_);
  const double deadline = Now() + seconds;
  const std::string request = absl::StrCat(line, "\n");
  absl::string_view unsent = request;
  for (;;) {
    const double left = deadline - Now();
    if (left <= 0) {
      const std::string amid = received_.empty() ? "" : ", only an incomplete line";
      return absl::DeadlineExceededError(absl::StrCat("gave no reply within ", seconds, " seconds", amid));
    }
    if (cancelled != nullptr && cancelled()) return absl::CancelledError("was cancelled");
    pollfd polled[2] = {{.fd = ends_.output, .events = POLLIN, .revents = 0},
                        {.fd = unsent.empty() ? -1 : ends_.input, .events = POLLOUT, .revents = 0}};
    const int wait = static_cast<int>(std::min<double>(std::ceil(left * 1000), kMillisecondsBetweenLooks));
    const int ready = poll(polled, 2, wait);
    if (ready < 0 && errno != EINTR) return FileError(errno, "wait for", "a process");
    siginfo_t how;
    // Other processes may hold its output open after it has ended.
    if (ready == 0 && HasEnded(pid_, &how)) return Ended();
    if (ready <= 0) continue;
    if (polled[1].revents != 0) RETURN_IF_ERROR(Write(&unsent));
    if (polled[0].revents == 0) continue;
    ASSIGN_OR_RETURN(const bool goes_on, Read());
    ASSIGN_OR_RETURN(std::optional<std::string> reply, TakeReply(unsent.empty()));
    if (reply) return *std::move(reply);
    if (!goes_on) return Ended();
  }
}

absl::Status CheckCommand(const std::string& command) {
  const std::string program = ProgramOf(command);
  if (program.empty()) return absl::OkStatus();
  return program.find('/') == std::string::npos ? CheckName(program) : CheckPath(program);
}

}  // namespace reprise
