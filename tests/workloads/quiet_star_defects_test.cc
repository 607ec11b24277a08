// What the published prototype of thoughts does wrong, and a run here does not (docs/quiet_star.md, last table).

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "rl/record/divergence.h"
#include "rl/record/record_schema.h"
#include "rl/run/workloads.h"
#include "tests/workloads/thinking_run.h"
#include "tests/workloads/training.h"

namespace reprise::rl {
namespace {

constexpr char kGroupMean[] = "[algorithm]\nname = \"reinforce\"\nbaseline = \"step_group_mean\"\ngamma = 0\n";

Config DifficultConfig() {
  Config config =
      MakeThoughtsConfig(kGroupMean, "positions = \"difficult\"\ninjection_threshold = 0.65\ninjection_interval = 2\n");
  config.model.initializer_range = 1;  // so that some tokens are more difficult than others
  return config;
}

Config ValueConfig() {
  return MakeThoughtsConfig(
      "[algorithm]\nname = \"reinforce\"\nbaseline = \"value\"\nvalue_steps = \"turns\"\ngamma = 0.99\n",
      "reward = \"graded\"\nvalue_hidden = \"8\"\n");
}

const StreamTable& ThoughtsIn(const StepTables& step) {
  for (const StreamTable& table : step.tables) {
    if (table.schema().name == "thoughts") return table;
  }
  return step.tables.front();
}

// Of a table's column, all values.
template <typename T>
std::vector<T> ReadColumn(const StreamTable& table, absl::string_view name) {
  const absl::Span<const T> values = table.Values<T>(FindColumn(table.schema(), name).value());
  return {values.begin(), values.end()};
}

// 2. The prototype forgets to begin anew, and decides for all texts of a batch at once.
TEST(QuietStarRunTest, TextsAreDecidedEachForItself) {
  const std::vector<StepTables> steps = Train(DifficultConfig());
  for (const StepTables& step : steps) {
    const std::vector<int64_t> prompts = ReadColumn<int64_t>(ThoughtsIn(step), "prompt"),
                               positions = ReadColumn<int64_t>(ThoughtsIn(step), "position");
    std::map<int64_t, std::vector<int64_t>> positions_of;
    for (size_t i = 0; i < prompts.size(); ++i) positions_of[prompts[i]].push_back(positions[i]);
    EXPECT_EQ(positions_of.size(), 5u) << "every text of the batch has thoughts, in every step";
    EXPECT_NE(positions_of[0], positions_of[1]);
  }
}

// 9. The prototype clips the gradient of the model alone.
TEST(QuietStarRunTest, TheValueFunctionIsClippedWithThePolicy) {
  Config config = ValueConfig();
  config.run.steps = 1;
  config.quiet_star.delimiter_gradient_weight = 1;
  const double norm = GetMetric(Train(config).back(), "grad_norm");
  config.algorithm.value.vf_coef *= 1e4;
  EXPECT_GT(GetMetric(Train(config).back(), "grad_norm"), 100 * norm);
}

// 10. The prototype's optimizer has no learning rate that schedules know.
TEST(QuietStarRunTest, SchedulesReachMuonGrokfast) {
  Config config = DifficultConfig();
  config.optimizer.name = OptimizerName::kMuonGrokfast;
  StateSink constant, falling;
  RunFrom(config, nullptr, &constant);
  config.optimizer.schedule = Schedule::kLinear;
  RunFrom(config, nullptr, &falling);
  EXPECT_EQ(constant.states[0].weights, falling.states[0].weights) << "both begin with the peak";
  EXPECT_NE(constant.states[1].weights, falling.states[1].weights);
  EXPECT_EQ(GetMetric(falling.steps[1], "learning_rate"), config.optimizer.learning_rate / 2);
}

// 14. Keys of the prototype do not reach what they are about.
TEST(QuietStarRunTest, EveryKeyOfThoughtsReachesThem) {
  Config base = DifficultConfig();
  base.run.steps = 1;
  const StepTables expected = Train(base).back();
  const auto differs = [&](void (*change)(Config&)) {
    Config config = base;
    change(config);
    const StepTables step = Train(config).back();
    const StreamTable &a = ThoughtsIn(expected), &b = ThoughtsIn(step);
    return ReadColumn<int64_t>(a, "position") != ReadColumn<int64_t>(b, "position") ||
           ReadColumn<int32_t>(a, "tokens") != ReadColumn<int32_t>(b, "tokens");
  };
  EXPECT_FALSE(differs([](Config&) {}));
  EXPECT_TRUE(differs([](Config& c) { c.rollout.temperature = 0.1; }));
  EXPECT_TRUE(differs([](Config& c) { c.rollout.top_p = 0.1; }));
  EXPECT_TRUE(differs([](Config& c) { c.quiet_star.min_thought_length = 2; }));
  EXPECT_TRUE(differs([](Config& c) { c.quiet_star.max_thought_length = 4; }));
  EXPECT_TRUE(differs([](Config& c) { c.quiet_star.injection_interval = 5; }));
  EXPECT_TRUE(differs([](Config& c) { c.quiet_star.injection_threshold = 0.5; }));
  EXPECT_TRUE(differs([](Config& c) { c.quiet_star.attention_dispersion = true; }));
}

// 15. The prototype's divergence is a sum over the text, and its entropy that of the text's predictions.
TEST(QuietStarRunTest, DivergenceAndEntropyAreMeansOverTheTokensOfThoughts) {
  const auto measure = [](int64_t length, absl::string_view metric,
                          KlDirection direction = KlDirection::kPolicyFromCopy) {
    Config config = MakeThoughtsConfig(
        "[algorithm]\nname = \"reinforce\"\nbaseline = \"step_none\"\ngamma = 0\nbeta = 0.1\n"
        "kl_estimator = \"exact\"\n",
        "reward = \"graded\"\n");
    config.quiet_star.min_thought_length = config.quiet_star.max_thought_length = length;
    config.quiet_star.kl_direction = direction;
    return GetMetric(Train(config).back(), metric);
  };
  const double most = std::log(136.0);  // 128 tokens and 8 thinking ones
  for (const int64_t length : {1, 8}) {
    EXPECT_GT(measure(length, "entropy"), 0.5 * most);
    EXPECT_LT(measure(length, "entropy"), most);
  }
  EXPECT_GT(measure(1, "kl"), 0);
  EXPECT_GT(measure(1, "kl", KlDirection::kCopyFromPolicy), 0);
  EXPECT_NE(measure(1, "kl", KlDirection::kCopyFromPolicy), measure(1, "kl"));
  EXPECT_LT(measure(8, "kl"), 4 * measure(1, "kl")) << "eight times the tokens are not eight times the divergence";
}

// 17. In the prototype 0 steps are as many as by default.
TEST(QuietStarRunTest, ZeroStepsAreZeroSteps) {
  Config config = DifficultConfig();
  config.run.steps = 0;
  EXPECT_TRUE(Train(config).empty());
}

// 20. The prototype compares thoughts with dropout with no thoughts without.
TEST(QuietStarRunTest, RewardsDropNothing) {
  Config config = MakeThoughtsConfig("[algorithm]\nname = \"reinforce\"\nbaseline = \"step_none\"\ngamma = 0\n",
                                     "mixing = \"attention\"\nmixing_heads = 2\nreward = \"graded\"\n"
                                     "clamp_rewards = false\npositions = \"answer\"\n");
  config.run.steps = 1;
  config.quiet_star.mixing_dropout = 0;
  const StepTables none = Train(config).back();
  config.quiet_star.mixing_dropout = 0.5;
  const StepTables some = Train(config).back();
  EXPECT_EQ(ReadColumn<double>(ThoughtsIn(none), "earned"), ReadColumn<double>(ThoughtsIn(some), "earned"));
  EXPECT_NE(GetMetric(none, "mixed_nll"), GetMetric(some, "mixed_nll")) << "training drops";
}

}  // namespace
}  // namespace reprise::rl
