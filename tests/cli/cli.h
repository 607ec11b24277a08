#ifndef TESTS_CLI_CLI_H_
#define TESTS_CLI_CLI_H_

// Runs the verbs as users run them, in one process.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/programs/process.h"

namespace reprise::testing {

// bazel-bin/pipelines/VERB ARG...
ProcessResult RunVerb(const std::string& verb, const std::vector<std::string>& arguments);

// Matches a process that exited with `code`, printed exactly the error `message` on stderr, once and in the form of all
// verbs' errors, and printed nothing on stdout.
MATCHER_P3(FailsWith, verb, code, message, "") {
  const std::string expected = "reprise " + std::string(verb) + ": error: " + std::string(message) + "\n";
  *result_listener << "exit code " << arg.exit_code << ", stdout: " << arg.out << ", stderr: " << arg.err;
  return arg.exit_code == code && arg.err == expected && arg.out.empty();
}

// Creates a new directory and returns its path.
std::string MakeDirectory();
// Writes DIRECTORY/NAME and returns its path.
std::string WriteFile(const std::string& directory, const std::string& name, const std::string& contents);

// A very short run: two steps of the task reverse with a small model.
inline constexpr char kTinyRun[] = R"([run]
steps = 2
[rollout]
prompts_per_step = 8
num_generations = 2
max_completion_length = 4
[artifact]
checkpoint_every = 1
)";

// Trains kTinyRun with --set `overrides` into a new directory and returns its path; fails the test if the training
// fails.
std::string TrainTinyRun(const std::vector<std::string>& overrides = {});

// Copies the golden vectors' small OLMoE model, so that the test may change it, and returns the copy's directory.
std::string CopyOfModel();

// Returns the parsed lines of `text`; a line that is not a JSON object fails the test.
std::vector<nlohmann::json> JsonLines(const std::string& text);

// Runs `verb --json`, which must exit with `exit_code`, and returns the one object that it prints; returns an empty
// object and fails the test if it prints none.
nlohmann::json RunForJson(const std::string& verb, std::vector<std::string> arguments, int exit_code);

}  // namespace reprise::testing

#endif  // TESTS_CLI_CLI_H_
