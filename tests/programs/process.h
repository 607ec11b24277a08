#ifndef TESTS_PROGRAMS_PROCESS_H_
#define TESTS_PROGRAMS_PROCESS_H_

#include <sys/types.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

namespace reprise::testing {

struct ProcessResult {
  int exit_code = -1;  // 128 + signal if a signal ended the process
  std::string out, err;
  bool timed_out = false;  // the process was killed at its time limit
};

// A program that runs while the test continues.
struct StartedProcess {
  pid_t pid = 0;         // 0: could not be started
  std::string out, err;  // files with its output
};

// Starts a program with this process's environment and `variables`.
StartedProcess StartProcess(const std::vector<std::string>& arguments,
                            const std::map<std::string, std::string>& variables);

// Waits for the process's end and kills it after `limit_seconds`. The exit code is 127 if the program could not be
// started. Call once.
ProcessResult WaitFor(const StartedProcess& process, double limit_seconds = std::numeric_limits<double>::infinity());

// Waits until the process is stopped (SIGSTOP) or has ended, and returns whether it is stopped.
bool IsStopped(const StartedProcess& process);

// Starts a program and waits for its end.
ProcessResult RunProcess(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables,
                         double limit_seconds = std::numeric_limits<double>::infinity());

// Returns a path below TEST_TMPDIR that no other call in this process has returned; creates nothing.
std::string UniqueTemporaryPath();

// Returns the bytes of a file, which must exist.
std::string Contents(const std::string& path);

// Returns DIRECTORY/metrics.jsonl without the durations of the steps, its only values that depend on the machine.
std::string MetricsWithoutTimes(const std::string& directory);

}  // namespace reprise::testing

#endif  // TESTS_PROGRAMS_PROCESS_H_
