// Every metric that a run can report is defined in docs/algorithms.md, and every defined metric is reported.

#include "rl/algorithm/metric_definitions.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "core/comm/testing/thread_communicator.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "data/memory/operation.h"
#include "gtest/gtest.h"
#include "rl/config/preset_testing.h"
#include "rl/environments/grid_navigation/episode_check.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/learner/tests/scripted_episodes.h"
#include "rl/run/execution.h"
#include "rl/run/prepare.h"

namespace reprise::rl {
namespace {

// Collects the names of the metrics of all steps, and of the last one.
class NameSink : public StepSink {
 public:
  absl::StatusOr<bool> Commit(const StepTables& step) override {
    last.clear();
    for (const auto& [name, value] : ReadResults(step).metrics) last.insert(name);
    all.insert(last.begin(), last.end());
    return true;
  }
  bool WantsCheckpoint(Phase, int64_t, bool) override { return false; }
  absl::Status Checkpoint(const PolicyState&) override { return absl::OkStatus(); }
  bool WantsState(Phase, int64_t, bool) override { return false; }
  absl::Status SaveState(const PolicyState&) override { return absl::OkStatus(); }

  std::set<std::string> all, last;
};

// Runs steps of the SFT phase and one of training.
NameSink CollectNames(Config config, int64_t sft_steps = 1) {
  config.run.steps = 1, config.sft.steps = sft_steps;
  NameSink sink;
  EXPECT_OK(RunAsRanks(1, [&](Communicator& comm) -> absl::Status {
    ASSIGN_OR_RETURN(const RunParts parts, PrepareRun(config));
    ASSIGN_OR_RETURN(const std::unique_ptr<Execution> execution,
                     Execution::Create({.config = config, .parts = parts, .comm = comm, .sink = &sink}));
    return execution->learner().Run(0);
  }));
  return sink;
}

Config BanditRun() {
  Config config;
  config.run.workload = "bandit";
  return config;
}

Config MemoryRun() {
  Config config;
  config.run.workload = "memory_agent";
  config.model.hidden_size = config.model.intermediate_size = 8;
  config.model.num_hidden_layers = 1;
  config.sft.prompts_per_step = 2;
  return config;
}

Config GrowthRun() {
  Config config;
  config.run.workload = "morphogenesis";
  SelectPreset("ppo", &config.algorithm);
  config.sft.prompts_per_step = 2;
  config.rollout.prompts_per_step = 2;
  config.rollout.num_generations = 1;
  MorphogenesisConfig& growth = config.morphogenesis;
  growth.train_examples = growth.validation_examples = growth.batch_size = 4;
  growth.image_size = 8, growth.base_channels = growth.blocks = growth.max_epochs = 2;
  growth.trunk = growth.hidden = "4";
  return config;
}

Config ThoughtsRun() {
  Config config;
  config.run.workload = "quiet_star";
  config.model.hidden_size = config.model.intermediate_size = 8;
  config.model.num_hidden_layers = 1;
  config.data.max_length = 1;
  config.quiet_star.positions = ThoughtPositions::kAnswer;
  config.quiet_star.max_thought_length = config.quiet_star.min_thought_length = 1;
  config.quiet_star.paper_metrics = true;
  SelectPreset("reinforce", &config.algorithm), config.algorithm.advantage.baseline = Baseline::kStepNone;
  config.sft.prompts_per_step = config.rollout.num_generations = 2;
  return config;
}

TEST(MetricDefinitionsTest, CoverExactlyTheMetricsThatRunsReport) {
  std::set<std::string> reported;
  for (const auto& choose : std::vector<std::function<void(AlgorithmConfig&)>>{
           [](AlgorithmConfig& a) {
             SelectPreset("ppo", &a), a.update.target_kl = 1, a.correction.mode = ImportanceMode::kTokenMask,
                                      a.diagnostics = true;
           },
           [](AlgorithmConfig& a) { SelectPreset("cispo", &a), a.entropy.entropy_coef = 0.1; },
           [](AlgorithmConfig& a) { SelectPreset("vespo", &a), SetBeta(0.1, &a), a.kl.schedule = KlSchedule::kLinear; },
           [](AlgorithmConfig& a) {
             a.loss.dual_clip = 3, a.update.num_mini_batches = 2, a.update.unit = MinibatchUnit::kEpisode;
           },
           [](AlgorithmConfig& a) { SelectPreset("a2po", &a); },
           [](AlgorithmConfig& a) { SelectPreset("rloo", &a), a.episode_metrics = true; }}) {
    Config config = testing::SmallRun();
    choose(config.algorithm);
    reported.merge(CollectNames(config).all);
  }
  Config scored = testing::SmallRun();
  scored.algorithm.reward.functions = "process";
  scored.process.command = R"(sed -u -E 's/.*"id":([0-9]+).*/{"id":\1,"reward":0}/')";
  reported.merge(CollectNames(scored).all);
  Config rooms = testing::RoomRun();
  rooms.environment.invalid_episodes = InvalidEpisodes::kDrop;
  rooms.environment.max_tool_calls = 1;
  rooms.rollout.max_completion_length = 100;
  reported.merge(CollectNames(rooms).all);
  Config muon = testing::SmallRun();
  muon.optimizer.name = OptimizerName::kMuonGrokfast, muon.optimizer.qk_clip_threshold = 1;
  reported.merge(CollectNames(muon).all);
  reported.merge(CollectNames(BanditRun()).all);
  Config facts = MemoryRun();
  facts.memory.task = MemoryTaskKind::kFacts, facts.memory.buffer_size = 4, facts.memory.context_window = 160;
  reported.merge(CollectNames(facts).all);
  Config thoughts = ThoughtsRun();
  thoughts.sft.learning_rate = 0.01;
  thoughts.quiet_star.baking_convergence = 0.01, thoughts.quiet_star.baking_window = 1;
  reported.merge(CollectNames(thoughts, /*sft_steps=*/20).all);
  reported.merge(CollectNames(GrowthRun()).all);
  std::set<std::string> defined;
  for (const MetricDefinition& metric : MetricDefinitions()) {
    for (const absl::string_view function :
         {"bandit", "character_match", "composite", "environment", "process", "shaped", "thoughts"}) {
      for (const absl::string_view reason : grid_navigation::kDropoutReasons) {
        for (const absl::string_view operation : data::kMemoryOperationNames) {
          defined.insert(absl::StrReplaceAll(
              metric.name, {{"{function}", function}, {"{reason}", reason}, {"{operation}", operation}}));
        }
      }
    }
  }
  EXPECT_EQ(reported, defined);
}

TEST(MetricDefinitionsTest, AMetricWithoutAConditionIsReportedByEveryWorkload) {
  const auto runs = {std::make_pair("character_match", testing::SmallRun()), std::make_pair("bandit", BanditRun()),
                     std::make_pair("composite", MemoryRun()), std::make_pair("thoughts", ThoughtsRun()),
                     std::make_pair("shaped", GrowthRun())};
  for (const auto& [function, config] : runs) {
    const std::set<std::string> names = CollectNames(config).last;
    for (const MetricDefinition& metric : MetricDefinitions()) {
      if (!metric.when.empty()) continue;
      const std::string name = absl::StrReplaceAll(metric.name, {{"{function}", function}});
      EXPECT_TRUE(names.contains(name)) << config.run.workload << " does not report " << name;
    }
  }
}

}  // namespace
}  // namespace reprise::rl
