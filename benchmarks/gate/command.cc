#include "benchmarks/gate/command.h"

extern char** environ;

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise::gate {
namespace {

constexpr int64_t kMostOutput = int64_t{64} << 20;
constexpr int kPollMicroseconds = 500;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string LastLine(absl::string_view text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  return lines.empty() ? "it printed no error message" : lines.back();
}

// Starts the program in its own process group, so that its children can be killed with it. Returns 0 or an errno.
int Spawn(const std::vector<std::string>& words, const std::string& directory, const std::string& out,
          const std::string& err, pid_t* child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> texts = words;
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const int error = posix_spawn(child, texts[0].c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Returns the exit status of the child, or none if it was killed at the deadline.
std::optional<int> WaitFor(pid_t child, double deadline) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Now() > deadline) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      return std::nullopt;
    }
    usleep(kPollMicroseconds);
  }
  return status;
}

}  // namespace

std::vector<std::string> CommandWords(absl::string_view command, const std::string& scratch,
                                      const std::string& prepared) {
  std::vector<std::string> words = absl::StrSplit(command, ' ', absl::SkipEmpty());
  for (std::string& word : words) {
    word = absl::StrReplaceAll(word, {{"{scratch}", scratch}, {"{prepared}", prepared}});
  }
  return words;
}

std::vector<std::string> LabelsOf(absl::string_view command) {
  std::vector<std::string> labels;
  for (absl::string_view word : absl::StrSplit(command, ' ', absl::SkipEmpty())) {
    if (!absl::ConsumePrefix(&word, "bazel-bin/")) continue;
    const size_t slash = word.rfind('/');
    if (slash == absl::string_view::npos) continue;
    labels.push_back(absl::StrCat("//", word.substr(0, slash), ":", word.substr(slash + 1)));
  }
  return labels;
}

absl::StatusOr<Execution> Execute(const std::vector<std::string>& words, const std::string& directory,
                                  double limit_seconds) {
  const std::string command = absl::StrJoin(words, " ");
  if (words.empty()) return absl::InvalidArgumentError("the command is empty");
  ASSIGN_OR_RETURN(const ScratchDirectory outputs, ScratchDirectory::Create());
  const std::string out = outputs.path() + "/out", err = outputs.path() + "/err";
  const double start = Now();
  pid_t child = 0;
  if (const int error = Spawn(words, directory, out, err, &child); error != 0) {
    return FileError(error, "run", absl::StrCat(directory, "/", words[0]));
  }
  const std::optional<int> status = WaitFor(child, start + limit_seconds);
  Execution execution = {.out = "", .seconds = Now() - start};
  if (!status) return absl::InternalError(absl::StrCat("took more than ", limit_seconds, " s: ", command));
  ASSIGN_OR_RETURN(execution.out, ReadFile(PosixFileSystem(), out, kMostOutput));
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return execution;
  ASSIGN_OR_RETURN(const std::string reported, ReadFile(PosixFileSystem(), err, kMostOutput));
  return absl::InternalError(absl::StrCat("ended with ", WIFEXITED(*status) ? "exit code " : "signal ",
                                          WIFEXITED(*status) ? WEXITSTATUS(*status) : WTERMSIG(*status), ": ", command,
                                          ": ", LastLine(reported)));
}

absl::StatusOr<ScratchDirectory> ScratchDirectory::Create() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string path = ((error ? std::filesystem::path("/tmp") : parent) / "reprise_gate.XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) return FileError(errno, "create", path);
  return ScratchDirectory(path);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;  // nothing depends on the removal
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace reprise::gate
