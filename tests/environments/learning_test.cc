// Reinforcement learning teaches the policy to use the replies "higher" and "lower", and to answer which of two things
// was asked for: small versions of configs/number_guess.toml and configs/multi_turn_rloo.toml.

#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

// Returns the metric's values, of the steps that have it.
std::vector<double> Values(const TrainedRun& run, const std::string& metric) {
  std::vector<double> values;
  std::istringstream lines(Contents(run.directory + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json metrics = nlohmann::json::parse(line);
    if (metrics.contains(metric)) values.push_back(metrics[metric]);
  }
  return values;
}

double MeanOfFive(const std::vector<double>& rewards, size_t first) {
  double sum = 0;
  for (size_t i = first; i < first + 5; ++i) sum += rewards.at(i);
  return sum / 5;
}

// Two random guesses find a number from 1 to 4 with probability 0.44, and the best policy with 0.75.
TEST(NumberGuessTest, LearnsToUseTheReplies) {
  const TrainedRun run = Train("configs/number_guess.toml",
                               {"environment.largest=4", "environment.max_turns=2", "rollout.max_completion_length=24",
                                "run.steps=50", "rollout.prompts_per_step=16", "sft.steps=40", "execution.threads=1"},
                               {});
  const std::vector<double> rewards = Values(run, "reward");
  ASSERT_EQ(rewards.size(), 50u);
  EXPECT_LT(MeanOfFive(rewards, 0), 0.5);
  EXPECT_GT(MeanOfFive(rewards, 45), 0.6);
}

// After the SFT phase, the policy answers with either of the two things that it saw, one of which was asked for. The
// test measures it on prompts that were never trained on.
TEST(GridNavigationTest, LearnsWhichThingWasAskedFor) {
  const TrainedRun run =
      Train("configs/multi_turn_rloo.toml",
            {"sft.steps=200", "sft.prompts_per_step=16", "run.steps=50", "rollout.prompts_per_step=8",
             "evaluation.every=50", "evaluation.num_prompts=48", "execution.threads=1"},
            {});
  const std::vector<double> before = Values(run, "eval_start_mean@4"), after = Values(run, "eval_mean@4");
  ASSERT_EQ(before.size(), 1u);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_GT(before[0], 0.25);
  EXPECT_LT(before[0], 0.6);
  EXPECT_GT(after[0], before[0] + 0.25);
}

}  // namespace
}  // namespace reprise::testing
