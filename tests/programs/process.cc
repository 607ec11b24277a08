#include "tests/programs/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "core/status/check.h"
#include "gtest/gtest.h"

extern char** environ;

namespace reprise::testing {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!variables.contains(text.substr(0, text.find('=')))) entries.push_back(text);
  }
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

// Returns the child's waitpid status. Polls every millisecond with a limit, and blocks without one.
int StatusOfEnd(pid_t child, double limit_seconds, bool* timed_out) {
  int status = 0;
  const auto start = std::chrono::steady_clock::now();
  while (std::isfinite(limit_seconds)) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    CHECK_EQ(ended, 0);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (passed.count() > limit_seconds) {
      *timed_out = true;
      kill(-child, SIGKILL);
      break;
    }
    usleep(1000);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  return status;
}

}  // namespace

StartedProcess StartProcess(const std::vector<std::string>& arguments,
                            const std::map<std::string, std::string>& variables) {
  StartedProcess process = {.out = UniqueTemporaryPath(), .err = UniqueTemporaryPath()};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, process.out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, process.err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  // The program gets its own process group, so that its children can be killed with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> argument_texts = arguments, entries = Environment(variables);
  const int error = posix_spawn(&process.pid, arguments.at(0).c_str(), &actions, &attributes,
                                Pointers(argument_texts).data(), Pointers(entries).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) process.pid = 0;
  return process;
}

ProcessResult WaitFor(const StartedProcess& process, double limit_seconds) {
  ProcessResult result;
  if (process.pid == 0) {
    result.exit_code = 127;
    return result;
  }
  const int status = StatusOfEnd(process.pid, limit_seconds, &result.timed_out);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.out = Contents(process.out);
  result.err = Contents(process.err);
  std::filesystem::remove(process.out);
  std::filesystem::remove(process.err);
  return result;
}

bool IsStopped(const StartedProcess& process) {
  siginfo_t info = {};
  CHECK_EQ(waitid(P_PID, static_cast<id_t>(process.pid), &info, WSTOPPED | WEXITED | WNOWAIT), 0);
  return info.si_code == CLD_STOPPED;
}

ProcessResult RunProcess(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables,
                         double limit_seconds) {
  return WaitFor(StartProcess(arguments, variables), limit_seconds);
}

std::string UniqueTemporaryPath() {
  static int count = 0;
  return ::testing::TempDir() + "/" + std::to_string(getpid()) + "_" + std::to_string(count++);
}

std::string Contents(const std::string& path) {
  std::stringstream text;
  const std::ifstream file(path, std::ios::binary);
  CHECK(file.good());
  text << file.rdbuf();
  return text.str();
}

std::string MetricsWithoutTimes(const std::string& directory) {
  static const std::regex times("\"(step_time|seconds)\":[^,}]*,");
  return std::regex_replace(Contents(directory + "/metrics.jsonl"), times, "");
}

}  // namespace reprise::testing
