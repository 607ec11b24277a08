// Promises of runs that train only on JSON actions and drop invalid episodes: the same bytes with any execution, after
// a kill and in a replay.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

constexpr char kRoomsRun[] = "tests/environments/rooms.toml";

// Returns the directory of the model after the SFT phase, which is trained once for all tests.
const std::string& WarmedModel() {
  static const auto* const model = new std::string(Train(kRoomsRun, {"run.steps=0"}, {}).directory + "/model");
  return *model;
}

std::vector<std::string> With(std::vector<std::string> more) {
  more.insert(more.begin(), {"model.path=\"" + WarmedModel() + "\"", "sft.steps=0", "sft.prompts_per_step=64",
                             "sft.learning_rate=1e-3"});
  return more;
}

const TrainedRun& Baseline() {
  static const auto* const run = new TrainedRun(Train(kRoomsRun, With({}), {}));
  return *run;
}

std::vector<nlohmann::json> Metrics(const std::string& directory) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(Contents(directory + "/metrics.jsonl"));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(RoomsTest, SomeEpisodesAreLearnedFromAndSomeAreDropped) {
  double valid = 0, dropped = 0;
  for (const nlohmann::json& step : Metrics(Baseline().directory)) {
    valid += step["episodes/valid"].get<double>();
    dropped += step["episodes/dropped"].get<double>();
    EXPECT_EQ(step["sampling/sampling_logp_difference/max"], 0);
  }
  EXPECT_GT(valid, 8);
  EXPECT_GT(dropped, 8);
}

TEST(RoomsTest, RanksThreadsBatchesAndSlotsChangeNoByte) {
  for (const int ranks : {1, 2, 3}) {
    SCOPED_TRACE(ranks);
    const TrainedRun run = Train(kRoomsRun,
                                 With({"execution.threads=" + std::to_string(4 - ranks),
                                       "execution.micro_batch_tokens=200", "execution.decode_slots=3"}),
                                 {.ranks = ranks});
    EXPECT_EQ(run.run_sha256, Baseline().run_sha256);
    EXPECT_GT(run.counts.cut_groups, Baseline().counts.cut_groups);
  }
}

TEST(RoomsTest, TheRunIsReproduced) {
  for (const char* mode : {"replay", "regenerate"}) {
    const Verdict verdict = Reproduce(Baseline().file(), mode, {.ranks = 2}, {"--model", WarmedModel()});
    EXPECT_TRUE(verdict.pass) << verdict.process.err;
    EXPECT_EQ(verdict.steps_checked, 4);
  }
}

TEST(RoomsTest, AKilledRunIsResumedToTheSameBytes) {
  const std::string directory = UniqueTemporaryPath();
  std::vector<std::string> train = {"pipelines/train", kRoomsRun, "--output", directory, "--quiet"};
  for (const std::string& pair : With({"execution.commit_every=1"})) train.insert(train.end(), {"--set", pair});
  const StartedProcess process = StartProgramOnRanks({}, train);
  const auto steps = [metrics = directory + "/metrics.jsonl"] {
    const std::string text = std::filesystem::exists(metrics) ? Contents(metrics) : "";
    return std::count(text.begin(), text.end(), '\n');
  };
  while (steps() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  kill(process.pid, SIGKILL);
  EXPECT_EQ(WaitFor(process).exit_code, 128 + SIGKILL);
  train.emplace_back("--resume");
  const ProcessResult resumed = RunProgramOnRanks({.ranks = 2}, train);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(Contents(directory + "/run.h5"), Contents(Baseline().file()));
}

TEST(RoomsTest, EveryChoiceGivesTheSameBytes) {
  for (const std::vector<std::string>& choice :
       {std::vector<std::string>{"environment.invalid_episodes=keep", "algorithm.baseline_scope=batch",
                                 "algorithm.aggregation=turn_mean"},
        {"algorithm.name=ppo", "algorithm.turn_rewards=turn"}}) {
    const TrainedRun one = Train(kRoomsRun, With(choice), {});
    EXPECT_FALSE(one.run_sha256.empty());
    EXPECT_EQ(Train(kRoomsRun, With(choice), {.ranks = 2}).run_sha256, one.run_sha256);
    EXPECT_NE(one.run_sha256, Baseline().run_sha256);
  }
}

}  // namespace
}  // namespace reprise::testing
