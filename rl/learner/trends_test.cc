#include "rl/learner/trends.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

Config BakingConfig(double threshold, int64_t window) {
  Config config;
  config.run.workload = "quiet_star";
  config.sft.steps = 9;
  config.quiet_star.baking_convergence = threshold;
  config.quiet_star.baking_window = window;
  return config;
}

// Returns the metrics of each step until the SFT phase is over.
std::vector<Metrics> Follow(SftWindow window, const std::vector<double>& accuracies) {
  std::vector<Metrics> of_steps;
  for (size_t i = 0; i < accuracies.size(); ++i) {
    const int64_t step = static_cast<int64_t>(i) + 1;
    Metrics& metrics = of_steps.emplace_back(Metrics{{"text_accuracy", accuracies[i]}});
    window.Follow(step, &metrics);
    if (window.IsOver(step)) break;
  }
  return of_steps;
}

TEST(SftWindowTest, EndsTheSftWhenTheMeanOfAFullWindowHasReachedTheThreshold) {
  const std::vector<Metrics> steps = Follow(SftWindow(BakingConfig(0.75, 2)), {1, 0.25, 0.5, 1, 0, 0, 0, 0, 0});
  ASSERT_EQ(steps.size(), 4u) << "one step alone is no window, and the threshold itself is enough";
  EXPECT_EQ(steps[0], (Metrics{{"text_accuracy", 1}, {kSftWindow, 1}}));
  EXPECT_EQ(steps[2], (Metrics{{"text_accuracy", 0.5}, {kSftWindow, 0.375}}));
  EXPECT_EQ(steps[3], (Metrics{{"text_accuracy", 1}, {kSftWindow, 0.75}, {kSftStepsLeft, 5}}));
}

TEST(SftWindowTest, WithoutAThresholdTheSftTakesAllStepsAndAddsNothing) {
  const std::vector<Metrics> steps = Follow(SftWindow(BakingConfig(0, 2)), std::vector<double>(9, 1.0));
  ASSERT_EQ(steps.size(), 9u);
  for (const Metrics& metrics : steps) EXPECT_EQ(metrics, (Metrics{{"text_accuracy", 1}}));
}

TEST(SftWindowTest, AtTheLastStepNoneIsLeftOut) {
  std::vector<double> accuracies(9, 0.0);
  accuracies[7] = accuracies[8] = 1;
  const std::vector<Metrics> steps = Follow(SftWindow(BakingConfig(0.85, 2)), accuracies);
  ASSERT_EQ(steps.size(), 9u);
  EXPECT_EQ(steps[8], (Metrics{{"text_accuracy", 1}, {kSftWindow, 1}}));
}

TEST(SftWindowTest, GoesOnFromItsNumbers) {
  const Config config = BakingConfig(0.75, 2);
  SftWindow window(config), resumed(config);
  Metrics metrics = {{"text_accuracy", 0.5}};
  window.Follow(1, &metrics);
  resumed.Restore(window.numbers());
  metrics = {{"text_accuracy", 1}};
  resumed.Follow(2, &metrics);
  EXPECT_TRUE(resumed.HasConverged());
  resumed.Restore({0, 0, 0, 0, 1, 1});  // more than a window: as the last of them
  EXPECT_EQ(resumed.numbers(), (std::vector<double>{1, 1}));
}

TEST(FollowTrendsTest, AnAverageOfNoRewardIsNotReported) {
  Config config;
  config.evaluation.every = 1;
  config.evaluation.metric_for_best_model = "reward_moving_average";
  ScheduleState state;
  state.recent_rewards = {std::nullopt, -1};
  Metrics metrics;
  FollowTrends(config, &state, &metrics);
  EXPECT_EQ(metrics, (Metrics{{"reward_moving_average", -1}}));
  state.recent_rewards = {std::nullopt};
  metrics.clear();
  FollowTrends(config, &state, &metrics);
  EXPECT_TRUE(metrics.empty());
}

TEST(FollowTrendsTest, CountsEvaluationsInARowWhoseTestsFail) {
  Config config;
  config.run.workload = "quiet_star";
  config.quiet_star.anti_theater = true;
  config.quiet_star.anti_theater_patience = 2;
  ScheduleState state;
  const auto follow = [&](double passed) {
    Metrics metrics = {{"eval_anti_theater_all_passed", passed}};
    FollowTrends(config, &state, &metrics);
    EXPECT_EQ(metrics.back(), (std::pair<std::string, double>("eval_anti_theater_failures", state.failures_in_a_row)));
    return FailuresEndRun(config, static_cast<double>(state.failures_in_a_row));
  };
  EXPECT_FALSE(follow(0));
  EXPECT_FALSE(follow(1));
  EXPECT_FALSE(follow(0));
  Metrics none;
  FollowTrends(config, &state, &none);  // a step without evaluation
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(follow(0));
  config.run.workload = "completions";
  EXPECT_FALSE(FailuresEndRun(config, 9));
}

}  // namespace
}  // namespace reprise::rl
