#ifndef TESTS_FAULTS_INJECTION_H_
#define TESTS_FAULTS_INJECTION_H_

// Injects faults into the file calls of real programs: the shim's input and its log (shim/plan.h).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace reprise::testing {

struct Injection {
  std::string directory = "";  // whose files are watched; absolute
  std::string fault = "";      // "signal", "torn", "error", "error_from", "short"; empty: calls are only counted
  int64_t call = -1;           // the number of the call in which the fault occurs
  int error_number = 0, signal = 0;
  std::string match = "";        // only calls whose text contains this count, such as "write journal"
  int rank = -1;                 // only this rank's calls count; -1: every process counts its own
  int64_t signal_after_ms = -1;  // from the program's start to the signal; -1: never
  std::string log = "";          // absolute path of a file that must not exist; empty: no log
};

// Returns the environment variables of a program with the injection.
std::map<std::string, std::string> EnvironmentVariables(const Injection& injection);

// A call that a program made. Entry i of the log is call i.
struct LoggedCall {
  std::string action;              // "write"
  std::vector<std::string> paths;  // within the watched directory; two for a rename or a link

  // Returns whether the call changes the contents of the disk.
  bool changes() const;
  // Returns the call's text; temporary names are cut to the part that is the same in every process.
  std::string text() const;
};

std::vector<LoggedCall> ReadLog(const std::string& log);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_INJECTION_H_
