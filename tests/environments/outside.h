#ifndef TESTS_ENVIRONMENTS_OUTSIDE_H_
#define TESTS_ENVIRONMENTS_OUTSIDE_H_

// Runs with an external process as their environment and as one of their rewards.

#include <string>
#include <vector>

#include "tests/programs/programs.h"

namespace reprise::testing {

inline constexpr char kOutsideRun[] = "tests/environments/outside.toml";

// Returns the option that gives the process's command to verbs, which do not execute the command in a file.
inline const std::vector<std::string>& GivingTheCommand() {
  static const auto* const flags =
      new std::vector<std::string>{"--process-command", "exec python3 tests/environments/outside.py"};
  return *flags;
}

// Returns an execution in which the process fails with `fault`, which is one of those in outside.py.
inline Execution Failing(const std::string& fault, int ranks = 1) {
  Execution execution = {.ranks = ranks};
  execution.variables["REPRISE_TEST_FAULT"] = fault;
  return execution;
}

}  // namespace reprise::testing

#endif  // TESTS_ENVIRONMENTS_OUTSIDE_H_
