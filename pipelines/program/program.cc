#include "pipelines/program/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/comm/mpi/world.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "kernels/isa/isa.h"
#include "nlohmann/json.hpp"
#include "pipelines/program/status_file.h"

namespace reprise {
namespace {

std::atomic<bool> requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // otherwise a signal handler may not access it

void Request(int) { requested.store(true, std::memory_order_relaxed); }

void RequestAndAnswer(int signal) {
  constexpr char kAnswer[] = "\nreprise: finishing the current step; press Ctrl-C again to stop at once\n";
  const int interrupted = errno;  // a failed call may be about to read it
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kAnswer, sizeof(kAnswer) - 1);
  errno = interrupted;
  Request(signal);
}

// Called in the thread that ran out of memory: unfinished files keep their temporary names, and the launcher ends the
// other ranks.
void ReportOutOfMemory() {
  constexpr absl::string_view kMessage =
      "reprise: error: out of memory: `validate` estimates the memory of a rank and names the keys that reduce it\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  std::_Exit(kExitIo);
}

// Each thread gets a stack of the limit's size, and would end the process by a signal at its end.
void RequireStack() {
  constexpr rlim_t kLeast = rlim_t{1} << 20;
  constexpr absl::string_view kMessage =
      "reprise: error: the limit of the stack is less than 1 MiB: raise it, as by ulimit -s 8192\n";
  rlimit limit = {};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeast) return;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  std::_Exit(kExitRetry);
}

// The output is part of the result: a verdict that could not be written is an error.
absl::Status FlushOutput() {
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  return failed ? FileError(errno, "write to", "the standard output") : absl::OkStatus();
}

}  // namespace

void PrepareProcess() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1) continue;
    if (open("/dev/null", O_RDWR) != descriptor) std::_Exit(kExitIo);  // open returns the lowest free descriptor
  }
  RequireStack();
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // a parent that ignores it would make the ends of child processes unknown
}

const std::atomic<bool>& InterruptBySignals() {
  struct sigaction action = {};
  action.sa_handler = Request;
  action.sa_flags = SA_RESTART | SA_RESETHAND;  // file and message calls are not interrupted
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = RequestAndAnswer;
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = Request;
  action.sa_flags = SA_RESTART;  // the launcher sends it until the process has ended
  sigaction(SIGUSR1, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // the run goes on when nobody reads its progress any more
  return requested;
}

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void PrintText(absl::string_view text) { std::fputs(PrintableLines(text).c_str(), stdout); }

void PrintJsonLine(const nlohmann::ordered_json& object) {
  const std::string line = object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string printed;
  for (size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    const auto next = static_cast<unsigned char>(i + 1 < line.size() ? line[i + 1] : '\0');
    if (byte == 0x7f) {
      printed += "\\u007f";
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      printed += next < 0x90 ? "\\u008" : "\\u009";
      printed += "0123456789abcdef"[next % 16];
      ++i;
    } else {
      printed += line[i];
    }
  }
  std::printf("%s\n", printed.c_str());
}

int PrintError(const CommandLine& command_line, const absl::Status& status) {
  std::fprintf(stderr, "reprise %s: error: %s\n", command_line.verb().c_str(), Printable(status.message()).c_str());
  return ExitCodeOf(status);
}

namespace {

int RunOnRanks(const CommandLine& command_line,
               const std::function<absl::StatusOr<int>(Communicator&, Logger&)>& verb) {
  std::set_new_handler(ReportOutOfMemory);
  if (const absl::Status isa = kernels::InitializeIsa(); !isa.ok()) return PrintError(command_line, isa);
  absl::StatusOr<std::unique_ptr<Communicator>> world = StartWorld(/*ranks=*/0);
  if (!world.ok()) return PrintError(command_line, world.status());
  absl::StatusOr<int> result = 0;
  {
    LoggerOptions options;
    options.rank = (*world)->rank();
    options.verbosity = command_line.flags().quiet ? Verbosity::kQuiet : Verbosity::kNormal;
    Logger logger(options);
    result = verb(**world, logger);
  }
  if (!result.ok()) {
    // Does not finalize MPI, because a peer may be gone. The launcher ends the other ranks.
    return (*world)->rank() == 0 ? PrintError(command_line, result.status()) : ExitCodeOf(result.status());
  }
  if (const absl::Status flushed = FlushOutput(); !flushed.ok()) return PrintError(command_line, flushed);
  if (const absl::Status finished = FinishWorld(*std::move(world)); !finished.ok()) {
    return PrintError(command_line, finished);
  }
  return *result;
}

}  // namespace

int RunProgram(const CommandLine& command_line,
               const std::function<absl::StatusOr<int>(Communicator&, Logger&)>& verb) {
  const int exit_code = RunOnRanks(command_line, verb);
  if (!command_line.flags().check) WriteStatusFile(exit_code);
  return exit_code;
}

int RunOnOneRank(const CommandLine& command_line, const std::function<absl::StatusOr<int>(Logger&)>& verb) {
  return RunOnRanks(command_line, [&](Communicator& comm, Logger& logger) -> absl::StatusOr<int> {
    if (comm.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(comm.size(), " ranks were started; ", command_line.verb(), " runs on one"));
    }
    return verb(logger);
  });
}

}  // namespace reprise
