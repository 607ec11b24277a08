// Every metric that a run can report is defined in docs/algorithms.md, and every defined metric is reported.

#include "rl/algorithm/metric_definitions.h"

#include <set>

#include "absl/strings/str_replace.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/environments/grid_navigation/episode_check.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/learner/tests/scripted_episodes.h"

namespace reprise::rl {
namespace {

std::set<std::string> NamesOf(Config config) {
  config.run.steps = 1, config.warm_up.steps = 1;
  testing::Outcome outcome;
  EXPECT_OK(testing::RunLearner(config, {}, &outcome));
  std::set<std::string> names;
  for (const StepRecord& record : outcome.sink.records) {
    for (const auto& [name, value] : record.metrics) names.insert(name);
  }
  return names;
}

TEST(MetricDefinitionsTest, CoverExactlyTheMetricsThatRunsReport) {
  std::set<std::string> reported;
  for (const auto& choose : std::vector<std::function<void(AlgorithmConfig&)>>{
           [](AlgorithmConfig& a) { a.name = "ppo", a.target_kl = 1, a.importance_correction = "token_mask"; },
           [](AlgorithmConfig& a) { a.name = "cispo", a.entropy.entropy_coef = 0.1; },
           [](AlgorithmConfig& a) { a.name = "vespo", a.beta = 0.1, a.kl.schedule = KlSchedule::kLinear; },
           [](AlgorithmConfig& a) { a.dual_clip = 3, a.num_mini_batches = 2, a.minibatches_of = "episodes"; },
           [](AlgorithmConfig& a) { a.name = "a2po"; },
           [](AlgorithmConfig& a) { a.name = "rloo", a.episode_metrics = true; }}) {
    Config config = testing::SmallRun();
    choose(config.algorithm);
    reported.merge(NamesOf(config));
  }
  Config scored = testing::SmallRun();
  scored.algorithm.reward = "process";
  scored.process.command = R"(sed -u -E 's/.*"id":([0-9]+).*/{"id":\1,"reward":0}/')";
  reported.merge(NamesOf(scored));
  Config rooms = testing::RoomRun();
  rooms.environment.invalid_episodes = "drop";
  rooms.environment.max_tool_calls = 1;
  rooms.rollout.max_completion_length = 100;
  reported.merge(NamesOf(rooms));
  std::set<std::string> defined;
  for (const MetricDefinition& metric : MetricDefinitions()) {
    for (const absl::string_view function : {"character_match", "environment", "process"}) {
      for (const absl::string_view reason : grid_navigation::kDropoutReasons) {
        defined.insert(absl::StrReplaceAll(metric.name, {{"{function}", function}, {"{reason}", reason}}));
      }
    }
  }
  EXPECT_EQ(reported, defined);
}

}  // namespace
}  // namespace reprise::rl
