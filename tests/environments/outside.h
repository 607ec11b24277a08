#ifndef TESTS_ENVIRONMENTS_OUTSIDE_H_
#define TESTS_ENVIRONMENTS_OUTSIDE_H_

// Runs whose environment and a reward are another program.

#include <string>
#include <vector>

#include "tests/programs/programs.h"

namespace reprise::testing {

inline constexpr char kOutsideRun[] = "tests/environments/outside.toml";

// Its program, for verbs that do not execute the command of a file.
inline const std::vector<std::string>& GivingTheCommand() {
  static const auto* const flags =
      new std::vector<std::string>{"--process-command", "exec python3 tests/environments/outside.py"};
  return *flags;
}

// With the program failing as outside.py says.
inline Execution Failing(const std::string& fault, int ranks = 1) {
  Execution execution = {.ranks = ranks};
  execution.variables["REPRISE_TEST_FAULT"] = fault;
  return execution;
}

}  // namespace reprise::testing

#endif  // TESTS_ENVIRONMENTS_OUTSIDE_H_
