#ifndef TESTS_FAULTS_INJECTION_H_
#define TESTS_FAULTS_INJECTION_H_

// Faults in the file calls of real programs: what the shim is told, and what it tells (shim/plan.h).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace reprise::testing {

struct Injection {
  std::string directory = "";  // whose files are watched; absolute
  std::string fault = "";      // "signal", "torn", "error", "error_from", "short"; empty: calls are only counted
  int64_t call = -1;           // the number of the call that it befalls
  int error_number = 0, signal = 0;
  std::string match = "";        // only calls that contain this count, as "write journal"
  int rank = -1;                 // only this rank's calls count; -1: every process counts its own
  int64_t signal_after_ms = -1;  // from the program's start to the signal; -1: never
  std::string log = "";          // absolute; a file that must not be there; empty: no log
};

// The environment of a program with the injection.
std::map<std::string, std::string> EnvironmentOf(const Injection& injection);

// A call that a program made: number i of the log stands for call i.
struct LoggedCall {
  std::string action;              // "write"
  std::vector<std::string> paths;  // within the watched directory; two for a rename or a link

  // Whether it changes what the disk holds.
  bool changes() const;
  // The call's text with temporary names cut to what they have in common from one process to the next.
  std::string text() const;
};

std::vector<LoggedCall> ReadLog(const std::string& log);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_INJECTION_H_
