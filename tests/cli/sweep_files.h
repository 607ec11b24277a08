#ifndef TESTS_CLI_SWEEP_FILES_H_
#define TESTS_CLI_SWEEP_FILES_H_

// A small sweep of bandits for tests of the command line.

#include <string>
#include <vector>

#include "tests/cli/cli.h"

namespace reprise::testing {

inline constexpr char kSweep[] = R"(config = "bandit.toml"
[grid]
algorithm.name = ["grpo", "rloo"]
run.seed = [1, 2]
)";

// Writes a sweep's file and its configuration into a new directory, and returns the file's path.
std::string WriteSweep(const std::string& text = kSweep);

ProcessResult RunSweep(const std::string& file, const std::string& directory, std::vector<std::string> more = {});

}  // namespace reprise::testing

#endif  // TESTS_CLI_SWEEP_FILES_H_
