// Every metric that a run can tell is defined in docs/algorithms.md, and every defined one is told.

#include "rl/algorithm/metric_definitions.h"

#include <set>

#include "absl/strings/str_replace.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/learner/learner_testing.h"

namespace reprise::rl {
namespace {

std::set<std::string> NamesOf(const std::function<void(AlgorithmConfig&)>& choose) {
  Config config = testing::SmallRun();
  config.run.steps = 1, config.warm_up.steps = 1;
  choose(config.algorithm);
  testing::Outcome outcome;
  EXPECT_OK(testing::RunLearner(config, {}, &outcome));
  std::set<std::string> names;
  for (const StepRecord& record : outcome.sink.records) {
    for (const auto& [name, value] : record.metrics) names.insert(name);
  }
  return names;
}

TEST(MetricDefinitionsTest, AreOfAllMetricsThatRunsTellAndOfNoOthers) {
  std::set<std::string> told;
  for (const auto& choose : std::vector<std::function<void(AlgorithmConfig&)>>{
           [](AlgorithmConfig& a) { a.name = "ppo", a.target_kl = 1, a.importance_correction = "token_mask"; },
           [](AlgorithmConfig& a) { a.name = "cispo", a.entropy_coef = 0.1; },
           [](AlgorithmConfig& a) { a.name = "vespo", a.beta = 0.1, a.kl_schedule = "linear"; },
           [](AlgorithmConfig& a) { a.dual_clip = 3; }}) {
    told.merge(NamesOf(choose));
  }
  std::set<std::string> defined;
  for (const MetricDefinition& metric : MetricDefinitions()) {
    defined.insert(absl::StrReplaceAll(metric.name, {{"{function}", "character_match"}}));
  }
  EXPECT_EQ(told, defined);
}

}  // namespace
}  // namespace reprise::rl
