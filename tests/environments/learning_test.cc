// Reinforcement learning finds out what "higher" and "lower" are good for: configs/number_guess.toml, made small.

#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

std::vector<double> Rewards(const TrainedRun& run) {
  std::vector<double> rewards;
  std::istringstream lines(Contents(run.directory + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json metrics = nlohmann::json::parse(line);
    if (metrics.contains("reward")) rewards.push_back(metrics["reward"]);
  }
  return rewards;
}

double MeanOfFive(const std::vector<double>& rewards, size_t first) {
  double sum = 0;
  for (size_t i = first; i < first + 5; ++i) sum += rewards.at(i);
  return sum / 5;
}

// Of numbers from 1 to 4 two guesses at random find 0.44, and the best policy 0.75.
TEST(NumberGuessTest, LearnsToListen) {
  const TrainedRun run =
      Train("configs/number_guess.toml",
            {"environment.largest=4", "environment.max_turns=2", "rollout.max_completion_length=24", "run.steps=50",
             "rollout.prompts_per_step=16", "warm_up.steps=40", "execution.threads=1"},
            {});
  const std::vector<double> rewards = Rewards(run);
  ASSERT_EQ(rewards.size(), 50u);
  EXPECT_LT(MeanOfFive(rewards, 0), 0.5);
  EXPECT_GT(MeanOfFive(rewards, 45), 0.6);
}

}  // namespace
}  // namespace reprise::testing
