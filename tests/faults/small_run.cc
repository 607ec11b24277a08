#include "tests/faults/small_run.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

constexpr double kLimitSeconds = 60;

constexpr char kConfiguration[] = R"([run]
steps = 2
[model]
hidden_size = 8
intermediate_size = 8
num_hidden_layers = 1
num_experts = 2
num_experts_per_tok = 1
[rollout]
prompts_per_step = 8
num_generations = 2
max_completion_length = 4
[artifact]
checkpoint_every = 1
[execution]
save_every = 1
)";

const std::string& ConfigurationFile() {
  static const auto* const path = [] {
    auto* const name = new std::string(UniqueTemporaryPath() + ".toml");
    std::ofstream(*name) << kConfiguration;
    return name;
  }();
  return *path;
}

std::string ContentsOrNothing(const std::string& path) { return std::filesystem::exists(path) ? Contents(path) : ""; }

}  // namespace

std::string SmallRun::run_bytes() const { return ContentsOrNothing(directory + "/run.h5"); }
std::string SmallRun::weights() const { return ContentsOrNothing(directory + "/model/model.safetensors"); }

StartedSmallRun StartSmallRun(Injection injection, const SmallRunOptions& options) {
  StartedSmallRun run;
  if (options.ranks > 1 && injection.rank < 0) injection.rank = 0;
  run.directory = injection.directory = options.directory.empty() ? UniqueTemporaryPath() : options.directory;
  run.log = injection.log = UniqueTemporaryPath();
  std::vector<std::string> arguments = {"pipelines/train", ConfigurationFile(), "--output", run.directory};
  if (options.redirections.empty()) {
    arguments.push_back("--quiet");
  } else {
    arguments.insert(arguments.begin(), {"/bin/sh", "-c", "exec \"$0\" \"$@\" " + options.redirections});
  }
  arguments.insert(arguments.end(), options.flags.begin(), options.flags.end());
  run.process = StartProgramOnRanks({.ranks = options.ranks, .variables = EnvironmentOf(injection)}, arguments);
  return run;
}

SmallRun TrainSmallRun(Injection injection, const SmallRunOptions& options) {
  const StartedSmallRun started = StartSmallRun(std::move(injection), options);
  SmallRun run = {.process = WaitFor(started.process, kLimitSeconds), .directory = started.directory, .calls = {}};
  EXPECT_FALSE(run.process.timed_out);
  if (std::filesystem::exists(started.log)) run.calls = ReadLog(started.log);
  std::filesystem::remove(started.log);
  return run;
}

const SmallRun& UndisturbedRun() {
  static const auto* const run = [] {
    auto* const undisturbed = new SmallRun(TrainSmallRun({}));
    EXPECT_EQ(undisturbed->process.exit_code, 0) << undisturbed->process.err;
    return undisturbed;
  }();
  return *run;
}

std::vector<int64_t> RepresentativeCalls(const std::vector<LoggedCall>& calls) {
  std::map<std::string, std::pair<int64_t, int64_t>> first_and_last;
  for (size_t i = 0; i < calls.size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    first_and_last.emplace(calls[i].text(), std::pair(place, place)).first->second.second = place;
  }
  std::set<int64_t> places;
  for (const auto& [text, ends] : first_and_last) places.insert({ends.first, ends.second});
  return {places.begin(), places.end()};
}

}  // namespace reprise::testing
