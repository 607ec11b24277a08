#include "tests/faults/small_run.h"

#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

constexpr double kLimitSeconds = 60;

std::string ContentsOrNothing(const std::string& path) { return std::filesystem::exists(path) ? Contents(path) : ""; }

}  // namespace

std::string SmallRun::run_bytes() const { return ContentsOrNothing(directory + "/run.h5"); }
std::string SmallRun::weights() const { return ContentsOrNothing(directory + "/model/model.safetensors"); }

StartedSmallRun StartSmallRun(Injection injection, const SmallRunOptions& options) {
  StartedSmallRun run;
  if (options.ranks > 1 && injection.rank < 0) injection.rank = 0;
  run.directory = injection.directory = options.directory.empty() ? UniqueTemporaryPath() : options.directory;
  run.log = injection.log = UniqueTemporaryPath();
  std::vector<std::string> arguments = {"pipelines/train", options.config, "--output", run.directory};
  if (options.redirections.empty()) {
    arguments.push_back("--quiet");
  } else {
    arguments.insert(arguments.begin(), {"/bin/sh", "-c", "exec \"$0\" \"$@\" " + options.redirections});
  }
  arguments.insert(arguments.end(), options.flags.begin(), options.flags.end());
  std::map<std::string, std::string> variables = EnvironmentVariables(injection);
  variables.insert(options.variables.begin(), options.variables.end());
  run.process = StartProgramOnRanks({.ranks = options.ranks, .variables = variables}, arguments);
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

const SmallRun& UndisturbedRun(const TestedWorkload& workload) {
  static auto* const runs = new std::map<std::string, SmallRun>;
  const auto found = runs->find(workload.name);
  if (found != runs->end()) return found->second;
  const SmallRun& run = runs->emplace(workload.name, TrainSmallRun({}, {.config = workload.quick})).first->second;
  EXPECT_EQ(run.process.exit_code, 0) << run.process.err;
  return run;
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
