#include "tests/programs/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
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

}  // namespace

ProcessResult RunProcess(const std::vector<std::string>& arguments,
                         const std::map<std::string, std::string>& variables) {
  const std::string out = UniqueTemporaryPath(), err = UniqueTemporaryPath();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<std::string> argument_texts = arguments, entries = Environment(variables);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments.at(0).c_str(), &actions, nullptr, Pointers(argument_texts).data(),
                                Pointers(entries).data());
  posix_spawn_file_actions_destroy(&actions);
  ProcessResult result;
  if (error != 0) {
    result.exit_code = 127;
    return result;
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.out = Contents(out);
  result.err = Contents(err);
  std::filesystem::remove(out);
  std::filesystem::remove(err);
  return result;
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

}  // namespace reprise::testing
