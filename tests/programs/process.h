#ifndef TESTS_PROGRAMS_PROCESS_H_
#define TESTS_PROGRAMS_PROCESS_H_

#include <map>
#include <string>
#include <vector>

namespace reprise::testing {

struct ProcessResult {
  int exit_code = -1;  // 128 + signal when a signal ended it
  std::string out, err;
};

// Runs a program to its end. `variables` are added to this process's environment. A program that cannot be started
// leaves exit code 127.
ProcessResult RunProcess(const std::vector<std::string>& arguments,
                         const std::map<std::string, std::string>& variables);

// A path below TEST_TMPDIR that no other call in this process has returned; nothing is created.
std::string UniqueTemporaryPath();

// The bytes of a file that must be there.
std::string Contents(const std::string& path);

}  // namespace reprise::testing

#endif  // TESTS_PROGRAMS_PROCESS_H_
