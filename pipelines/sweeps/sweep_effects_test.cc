#include "pipelines/sweeps/sweep_effects.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "pipelines/sweeps/sweep_table.h"
#include "pipelines/sweeps/table_markdown.h"
#include "pipelines/sweeps/trials/trial_facts.h"
#include "rl/config/load.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

TrialOutcome Done(double reward) {
  TrialOutcome outcome = {.status = TrialStatus::kDone, .run_digest = std::string(64, 'a'), .steps = 10};
  outcome.metrics = {{.name = "reward", .count = 10, .last = reward, .tail = reward}};
  return outcome;
}

// A grid without seeds: in each of four blocks the second learning rate is better by about 1.
TEST(SweepEffectsTest, TheEffectOfAKeyIsPairedOverAllOtherSettings) {
  StoredPlan plan = {.axes = {"optimizer.learning_rate", "algorithm.beta", "run.seed"}, .compare = {}, .trials = {}};
  std::vector<TrialOutcome> outcomes;
  for (const char* rate : {"0.1", "0.2"}) {
    for (int beta = 0; beta < 4; ++beta) {
      const std::string arm = absl::StrCat(rate, "-", beta);
      plan.trials.push_back({.name = arm,
                             .arm = arm,
                             .problem = "p",
                             .config_sha256 = "",
                             .base = 0,
                             .seed = 1,
                             .settings = {rate, absl::StrCat(beta), "1"}});
      outcomes.push_back(Done(10 * beta + (rate[2] == '2' ? 1 + 0.1 * beta : 0)));
    }
  }
  const SweepTable table = MakeTable(plan, outcomes);
  for (const ComparisonRow& row : table.comparisons) EXPECT_EQ(row.better, Verdict::kUndecided);
  ASSERT_EQ(table.effects.size(), 7u) << "one of the rates, six of beta, none of seeds";
  EXPECT_EQ(table.effects[0].key, "optimizer.learning_rate");
  EXPECT_EQ(table.effects[0].paired.n, 4);
  EXPECT_NEAR(table.effects[0].paired.value, 1.15, 1e-9);
  EXPECT_EQ(table.effects[0].better, Verdict::kSecond);
  EXPECT_EQ(table.effects[1].first, "0");
  EXPECT_EQ(table.effects[1].second, "1");
  EXPECT_EQ(table.effects[1].paired.n, 2);
  EXPECT_THAT(ToMarkdown(table), HasSubstr("| optimizer.learning_rate | 0.2 - 0.1 | 1.15 | "));
  plan.trials[0].base = 1;
  EXPECT_EQ(MakeTable(plan, outcomes).effects[0].paired.n, 3);
}

// Trials of the key x, in the order of the values, each with its score.
struct OfX {
  const char* value;
  int block;
  const char* problem;
  double score;
};

SweepTable TableOfX(const std::vector<OfX>& trials) {
  StoredPlan plan = {.axes = {"x.x", "y.y", "run.seed"}, .compare = {}, .trials = {}};
  std::vector<TrialOutcome> outcomes;
  for (const OfX& trial : trials) {
    const std::string arm = absl::StrCat(trial.problem, trial.value, "-", trial.block);
    plan.trials.push_back({.name = arm,
                           .arm = arm,
                           .problem = trial.problem,
                           .config_sha256 = "",
                           .base = 0,
                           .seed = 1,
                           .settings = {trial.value, absl::StrCat(trial.block), "1"}});
    outcomes.push_back(Done(trial.score));
  }
  return MakeTable(plan, outcomes);
}

std::vector<EffectRow> EffectsOfX(const SweepTable& table) {
  std::vector<EffectRow> rows;
  for (const EffectRow& row : table.effects) {
    if (row.key == "x.x") rows.push_back(row);
  }
  return rows;
}

TEST(SweepEffectsTest, AnEffectIsOneRowInWhateverOrderItsValuesAre) {
  const std::vector<EffectRow> numbers =
      EffectsOfX(TableOfX({{"0.03", 0, "p", 5}, {"0.001", 0, "p", 1}, {"0.001", 1, "p", 2}, {"0.03", 1, "p", 8}}));
  ASSERT_EQ(numbers.size(), 1u);
  EXPECT_EQ(numbers[0].first, "0.001");
  EXPECT_EQ(numbers[0].second, "0.03");
  EXPECT_EQ(numbers[0].paired.n, 2);
  EXPECT_EQ(numbers[0].paired.value, 5);
  const std::vector<EffectRow> names =
      EffectsOfX(TableOfX({{"\"b\"", 0, "p", 5}, {"\"a\"", 0, "p", 1}, {"\"a\"", 1, "p", 2}, {"\"b\"", 1, "p", 8}}));
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].first, "\"b\"") << "what is no number is in the order of the trials";
  EXPECT_EQ(names[0].paired.value, -5);
}

// A table of the facts that a configuration has, for each seed of 1 and 2: the settings of x, and what is set beside
// it.
SweepTable TableOfConfigs(const std::string& axis, const std::vector<std::vector<std::string>>& settings_of_trial) {
  StoredPlan plan = {.axes = {axis, "run.seed"}, .compare = {}, .trials = {}};
  std::vector<TrialOutcome> outcomes;
  for (size_t i = 0; i < settings_of_trial.size(); ++i) {
    for (int64_t seed = 1; seed <= 2; ++seed) {
      std::vector<std::string> overrides = settings_of_trial[i];
      overrides.push_back(absl::StrCat("run.seed=", seed));
      const absl::StatusOr<rl::ResolvedConfig> config = rl::LoadConfig("", "c.toml", overrides);
      EXPECT_OK(config);
      TrialOutcome outcome = Done(static_cast<double>(10 * i) + static_cast<double>(seed));
      outcome.facts = *ParseTrialFacts(StoredText(config->config), {}, plan.axes);
      const std::string arm = absl::StrCat("v", i);
      plan.trials.push_back({.name = absl::StrCat(arm, "-", seed),
                             .arm = arm,
                             .problem = outcome.facts.problem,
                             .config_sha256 = outcome.facts.config_sha256,
                             .base = 0,
                             .seed = seed,
                             .settings = outcome.facts.settings});
      outcomes.push_back(std::move(outcome));
    }
  }
  return MakeTable(plan, outcomes);
}

// [settings] optimizer.min_lr_rate = 0.1, which only falling schedules read.
TEST(SweepEffectsTest, AKeyThatAnAxisMakesUnreadIsBroughtAlongByItAndHasNoValueThere) {
  const std::vector<std::string> constant = {"optimizer.schedule=constant"},
                                 falling = {"optimizer.schedule=linear", "optimizer.min_lr_rate=0.1"},
                                 wave = {"optimizer.schedule=cosine", "optimizer.min_lr_rate=0.2"};
  const SweepTable table = TableOfConfigs("optimizer.schedule", {constant, falling, wave});
  ASSERT_EQ(table.effects.size(), 2u) << "linear and cosine differ in a key that both read";
  EXPECT_EQ(table.effects[0].first, "\"constant\"");
  EXPECT_EQ(table.effects[0].second, "\"linear\"");
  EXPECT_EQ(table.effects[0].paired.n, 2);
  EXPECT_EQ(table.effects[0].paired.value, 10);
  EXPECT_EQ(table.effects[1].second, "\"cosine\"");
  EXPECT_THAT(ToMarkdown(table), HasSubstr("| v0 | - | \"constant\" |\n| v1 | 0.1 | \"linear\" |\n"));

  const SweepTable of_rate = TableOfConfigs("optimizer.min_lr_rate", {constant, falling, wave});
  EXPECT_TRUE(of_rate.effects.empty())
      << "a rate that is not read is no value of the key, and no pair has one schedule";

  const SweepTable scales =
      TableOfConfigs("algorithm.scale_rewards",
                     {{"algorithm.ddof=0", "algorithm.scale_rewards=group"}, {"algorithm.scale_rewards=none"}});
  ASSERT_EQ(scales.effects.size(), 1u);
  EXPECT_EQ(scales.effects[0].paired.n, 2);
}

// [settings] algorithm.epsilon_high = 0.2, which is the value that it has anyway where epsilon is 0.2.
TEST(SweepEffectsTest, AValueThatFollowsFromTheAxisInSomeTrialsEqualsTheSameOneThatWasChosen) {
  const auto with = [](const std::string& fixed, const std::string& key, const std::vector<std::string>& values) {
    std::vector<std::vector<std::string>> settings;
    for (const std::string& value : values) settings.push_back({fixed, absl::StrCat(key, "=", value)});
    return TableOfConfigs(key, settings);
  };
  EXPECT_EQ(with("algorithm.epsilon_high=0.2", "algorithm.epsilon", {"0.1", "0.2", "0.3"}).effects.size(), 3u);
  EXPECT_EQ(with("algorithm.aggregation=grpo", "algorithm.loss_type", {"dapo", "grpo", "bnpo"}).effects.size(), 3u);
  EXPECT_EQ(with("algorithm.clip=two_sided", "algorithm.loss_type", {"dapo", "cispo", "bnpo"}).effects.size(), 3u);
  EXPECT_EQ(with("algorithm.epsilon_high=5", "algorithm.clip", {"two_sided", "cispo"}).effects.size(), 1u);
  // What follows in all trials is brought along; what was chosen differently is not.
  EXPECT_EQ(with("algorithm.beta=0", "algorithm.loss_type", {"dapo", "cispo"}).effects.size(), 1u);
  const SweepTable differing = TableOfConfigs(
      "algorithm.loss_type", {{"algorithm.loss_type=dapo", "algorithm.clip=none"}, {"algorithm.loss_type=bnpo"}});
  EXPECT_TRUE(differing.effects.empty());
}

TEST(SweepEffectsTest, EffectsOfDifferentProblemsAreNotPooled) {
  const SweepTable table =
      TableOfX({{"1", 0, "p", 5}, {"2", 0, "p", 6}, {"1", 0, "q", 50}, {"2", 0, "q", 30}, {"2", 1, "q", 31}});
  const std::vector<EffectRow> rows = EffectsOfX(table);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].problem, "p");
  EXPECT_EQ(rows[0].paired.value, 1);
  EXPECT_EQ(rows[1].problem, "q");
  EXPECT_EQ(rows[1].paired.value, -20);
  EXPECT_THAT(ToMarkdown(table), HasSubstr("| x.x | 2 - 1 | -20 | - | 1 | 1 | undecided | q1-0 and 2 more |\n"));
}

}  // namespace
}  // namespace reprise
