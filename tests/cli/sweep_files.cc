#include "tests/cli/sweep_files.h"

namespace reprise::testing {
namespace {

constexpr char kBandit[] = R"([run]
workload = "bandit"
steps = 40
logical_shards = 4
[rollout]
prompts_per_step = 16
num_generations = 4
[optimizer]
learning_rate = 1e-2
)";

}  // namespace

std::string WriteSweep(const std::string& text) {
  const std::string directory = MakeDirectory();
  WriteFile(directory, "bandit.toml", kBandit);
  return WriteFile(directory, "s.toml", text);
}

ProcessResult RunSweep(const std::string& file, const std::string& directory, std::vector<std::string> more) {
  std::vector<std::string> arguments = {file, "--output", directory, "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunVerb("sweep", arguments);
}

}  // namespace reprise::testing
