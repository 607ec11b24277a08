#ifndef TESTS_CLI_CLI_H_
#define TESTS_CLI_CLI_H_

// The verbs as users run them on one process.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/programs/process.h"

namespace reprise::testing {

// bazel-bin/pipelines/VERB ARG...
ProcessResult RunVerb(const std::string& verb, const std::vector<std::string>& arguments);

// Whether a process ended with `code` and told exactly `message`, once, as all verbs tell their errors, and nothing on
// stdout.
MATCHER_P3(FailsWith, verb, code, message, "") {
  const std::string expected = "reprise " + std::string(verb) + ": error: " + std::string(message) + "\n";
  *result_listener << "exit code " << arg.exit_code << ", stdout: " << arg.out << ", stderr: " << arg.err;
  return arg.exit_code == code && arg.err == expected && arg.out.empty();
}

// A new directory.
std::string MakeDirectory();
// Writes DIRECTORY/NAME and returns its path.
std::string WriteFile(const std::string& directory, const std::string& name, const std::string& contents);

// A run that takes no time: two steps of reverse with a small model.
inline constexpr char kTinyRun[] = R"([run]
steps = 2
[rollout]
prompts_per_step = 8
num_generations = 2
max_completion_length = 4
[artifact]
checkpoint_every = 1
)";

// Trains kTinyRun with --set `overrides` into a new directory and returns that; fails the test where it cannot.
std::string TrainTinyRun(const std::vector<std::string>& overrides = {});

// A copy of the small OLMoE of the golden vectors that may be changed.
std::string CopyOfModel();

// The lines of `text`, each parsed; a line that is not a JSON object fails the test.
std::vector<nlohmann::json> JsonLines(const std::string& text);

// The one object that `verb --json` prints, ending with `exit_code`; an empty one, and a failed test, if it does not.
nlohmann::json JsonOf(const std::string& verb, std::vector<std::string> arguments, int exit_code);

}  // namespace reprise::testing

#endif  // TESTS_CLI_CLI_H_
