// Tests pairs of choices that each work alone: the invariants of single choices hold for pairs too.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/testing/all_pairs.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/tests/learner_testing.h"

namespace reprise::rl {
namespace {

using testing::ExpectSame;
using testing::GetMetric;
using testing::Outcome;

struct Choice {
  std::string name;
  std::function<void(AlgorithmConfig& algorithm)> make;
};

// The values of each axis.
const std::vector<std::vector<Choice>>& Axes() {
  static const auto* const axes = new std::vector<std::vector<Choice>>{
      {{"ppo", [](AlgorithmConfig& a) { SelectPreset("ppo", &a); }},
       {"reinforce_plus_plus", [](AlgorithmConfig& a) { SelectPreset("reinforce_plus_plus", &a); }},
       {"grpo", [](AlgorithmConfig& a) { SelectPreset("grpo", &a); }},
       {"gspo", [](AlgorithmConfig& a) { SelectPreset("gspo", &a); }},
       {"vespo", [](AlgorithmConfig& a) { SelectPreset("vespo", &a); }},
       {"episode_rloo", [](AlgorithmConfig& a) { SelectPreset("episode_rloo", &a); }},
       {"agemem", [](AlgorithmConfig& a) { SelectPreset("agemem", &a); }}},
      {{"", [](AlgorithmConfig&) {}},
       {"mask_truncated", [](AlgorithmConfig& a) { a.mask_truncated_completions = true; }},
       {"dynamic_sampling", [](AlgorithmConfig& a) { a.dynamic_sampling = true; }}},
      {{"", [](AlgorithmConfig&) {}},
       {"token_truncate", [](AlgorithmConfig& a) { a.correction.mode = ImportanceMode::kTokenTruncate; }},
       {"sequence_mask", [](AlgorithmConfig& a) { a.correction.mode = ImportanceMode::kSequenceMask; }}},
      {{"", [](AlgorithmConfig&) {}},
       {"beta", [](AlgorithmConfig& a) { SetBeta(0.1, &a); }},
       {"proportional",
        [](AlgorithmConfig& a) { SetBeta(0.1, &a), a.kl.schedule = KlSchedule::kProportional, a.kl.horizon = 100; }}},
      {{"", [](AlgorithmConfig&) {}},
       {"minibatches", [](AlgorithmConfig& a) { a.update.num_mini_batches = 3; }},
       {"decisions",
        [](AlgorithmConfig& a) {  // the ratios of the other two are of completions
          a.update.num_mini_batches = 3,
          a.update.unit = a.name == "gspo" || a.name == "vespo" ? MinibatchUnit::kEpisode : MinibatchUnit::kDecision;
        }}},
      {{"", [](AlgorithmConfig&) {}},
       {"entropy_bonus", [](AlgorithmConfig& a) { a.entropy.entropy_coef = 0.01; }},
       {"top_entropy", [](AlgorithmConfig& a) { a.loss.top_entropy_quantile = 0.5; }}},
      {{"", [](AlgorithmConfig&) {}}, {"target_kl", [](AlgorithmConfig& a) { a.update.target_kl = 0.05; }}},
  };
  return *axes;
}

Config MakeConfig(const reprise::testing::Row& row) {
  Config config = testing::SmallRun();
  config.sft.steps = 1;
  config.run.steps = 2;
  config.optimizer.learning_rate = 0.02;
  config.algorithm.episode_metrics = true;
  for (size_t axis = 0; axis < row.size(); ++axis) Axes()[axis][row[axis]].make(config.algorithm);
  config.algorithm.update.num_iterations = 1;
  return config;
}

std::vector<reprise::testing::Row> Pairs() {
  std::vector<int> levels;
  for (const std::vector<Choice>& axis : Axes()) levels.push_back(static_cast<int>(axis.size()));
  return reprise::testing::AllPairs(levels);
}

// Some completions of every group are truncated, some groups have equal rewards, and one has neither.
void CutSome(int, Phase phase, int64_t, models::Model&, Episodes& episodes) {
  if (phase == Phase::kSft) return;
  for (EpisodeRecord& episode : episodes.episode_N) {
    episode.terminated = episode.prompt == 5 || (episode.prompt + episode.sample) % 3 != 0;
  }
}

double Reward(const Completion& completion) {
  return completion.answer.size() == 3 ? 0.5 : static_cast<double>(completion.text.size());
}

class LearnerPairsTest : public ::testing::TestWithParam<reprise::testing::Row> {};

INSTANTIATE_TEST_SUITE_P(AllPairs, LearnerPairsTest, ::testing::ValuesIn(Pairs()), [](const auto& info) {
  std::string name;
  for (size_t axis = 0; axis < info.param.size(); ++axis) {
    const std::string& choice = Axes()[axis][info.param[axis]].name;
    name += choice.empty() ? "" : (name.empty() ? "" : "_") + choice;
  }
  return name;
});

TEST_P(LearnerPairsTest, KeepsTheInvariantsOfSingleChoices) {
  const Config config = MakeConfig(GetParam());
  Outcome alone, shared;
  ASSERT_OK(RunLearner(config, {.reward = Reward, .spoil = CutSome}, &alone));
  ASSERT_OK(RunLearner(config, {.ranks = 2, .reward = Reward, .spoil = CutSome}, &shared));
  ExpectSame(alone, shared);
  for (const StepRecord& record : alone.sink.records) {
    for (const auto& [name, value] : record.metrics) EXPECT_TRUE(std::isfinite(value)) << name;
  }
  const StepRecord& first = alone.sink.records[1];
  const AlgorithmConfig& algorithm = config.algorithm;
  // The first update of a step is on policy: ratios are 1.
  if (algorithm.correction.mode != ImportanceMode::kNone) {
    for (const char* metric : {"mean", "min", "max"}) {
      EXPECT_EQ(GetMetric(first, std::string("sampling/importance_sampling_ratio/") + metric), 1.0) << metric;
    }
  }
  const bool whitened = algorithm.name == "ppo" || algorithm.name == "reinforce_plus_plus";
  if (whitened && algorithm.update.num_mini_batches == 1 && algorithm.loss.top_entropy_quantile == 1) {
    EXPECT_NEAR(GetMetric(first, "loss/policy_gradient"), 0, 1e-12);
  }
}

}  // namespace
}  // namespace reprise::rl
