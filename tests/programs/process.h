#ifndef TESTS_PROGRAMS_PROCESS_H_
#define TESTS_PROGRAMS_PROCESS_H_

#include <sys/types.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

namespace reprise::testing {

struct ProcessResult {
  int exit_code = -1;  // 128 + signal when a signal ended it
  std::string out, err;
  bool timed_out = false;  // and was killed for it
};

// A program that runs beside the test.
struct StartedProcess {
  pid_t pid = 0;         // 0: could not be started
  std::string out, err;  // files
};

// `variables` are added to this process's environment.
StartedProcess StartProcess(const std::vector<std::string>& arguments,
                            const std::map<std::string, std::string>& variables);

// Waits for its end; kills it after `limit_seconds`. Exit code 127 for a program that could not be started. Call once.
ProcessResult WaitFor(const StartedProcess& process, double limit_seconds = std::numeric_limits<double>::infinity());

// Waits until it is stopped (SIGSTOP) or has ended: whether it is stopped.
bool IsStopped(const StartedProcess& process);

// Both of the first two.
ProcessResult RunProcess(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables,
                         double limit_seconds = std::numeric_limits<double>::infinity());

// A path below TEST_TMPDIR that no other call in this process has returned; nothing is created.
std::string UniqueTemporaryPath();

// The bytes of a file that must be there.
std::string Contents(const std::string& path);

// DIRECTORY/metrics.jsonl without how long the steps took, which is all of it that depends on the machine.
std::string MetricsWithoutTimes(const std::string& directory);

}  // namespace reprise::testing

#endif  // TESTS_PROGRAMS_PROCESS_H_
