#include "rl/config/workload_traits.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/config/field_list.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"
#include "rl/config/load.h"

namespace reprise::rl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kLanguageModels[] = "completions, memory_agent or quiet_star";
constexpr char kCompletionsAndThoughts[] = "completions or quiet_star";

// The shared sections that not every workload reads.
const std::map<std::string, std::string>& ReadersOfSections() {
  static const auto& readers = *new std::map<std::string, std::string>{{"model", kLanguageModels},
                                                                       {"lora", kLanguageModels},
                                                                       {"data", kCompletionsAndThoughts},
                                                                       {"environment", "completions"},
                                                                       {"process", "completions"}};
  return readers;
}

// The keys whose readers are not those of their section.
const std::map<std::string, std::string>& ReadersOfKeys() {
  static const auto& readers = *new std::map<std::string, std::string>{
      {"data.path", "completions"},
      {"rollout.max_completion_length", "completions"},
      {"rollout.top_p", kCompletionsAndThoughts},
      {"rollout.top_k", kCompletionsAndThoughts},
      {"rollout.min_new_tokens", "completions"},
      {"rollout.max_prompt_length", "completions"},
      {"rollout.truncation_side", "completions"},
      {"rollout.stop", "completions"},
      {"rollout.stop_token_ids", "completions"},
      {"algorithm.reward", "completions"},
      {"algorithm.reward_weights", "completions"},
      {"algorithm.multi_objective_aggregation", "completions"},
      {"algorithm.soft_punish_cache", "completions"},
      {"algorithm.missing_eos_penalty", "completions"},
      {"algorithm.turn_rewards", "completions"},
      {"algorithm.value_model", "completions"},
      {"algorithm.bootstrap_truncated", "completions or morphogenesis"},
      {"algorithm.mask_truncated_completions", "completions"},
      {"algorithm.top_entropy_quantile", kLanguageModels},
      {"evaluation.path", "completions"},
      {"evaluation.held_out_share", kCompletionsAndThoughts},
      {"evaluation.split_seed", kCompletionsAndThoughts},
      {"evaluation.correct_reward", "completions"},
      {"optimizer.qk_clip_threshold", kLanguageModels},
      {"execution.decode_slots", kCompletionsAndThoughts},
      {"execution.activation_checkpointing", kLanguageModels},
      {"execution.log_completions", "completions"},
  };
  return readers;
}

// "bandit or quiet_star".
std::string Alternatives(std::vector<absl::string_view> names) {
  if (names.size() < 2) return absl::StrJoin(names, "");
  const absl::string_view last = names.back();
  names.pop_back();
  return absl::StrCat(absl::StrJoin(names, ", "), " or ", last);
}

std::string ExpectedReaders(const config::Field& field) {
  if (const auto of_key = ReadersOfKeys().find(field.Name()); of_key != ReadersOfKeys().end()) return of_key->second;
  for (const WorkloadTraits& each : Workloads()) {
    if (each.section == field.section) return std::string(each.name);
  }
  const auto of_section = ReadersOfSections().find(std::string(field.section));
  return of_section == ReadersOfSections().end() ? Alternatives(WorkloadNames()) : of_section->second;
}

// The workloads in whose scope the field of this name is.
std::string Readers(const std::string& name) {
  std::vector<absl::string_view> readers;
  for (const absl::string_view workload : WorkloadNames()) {
    Config config;
    config.run.workload = std::string(workload);
    config::FieldList list;
    Visit(list, config);
    const size_t dot = name.find('.');
    if (list.Find(name.substr(0, dot), name.substr(dot + 1))->IsInScope()) readers.push_back(workload);
  }
  return Alternatives(std::move(readers));
}

TEST(WorkloadTraitsTest, EveryKeyNamesTheWorkloadsThatReadIt) {
  Config config;
  config::FieldList list;
  Visit(list, config);
  for (const config::Field& field : list.fields()) {
    EXPECT_EQ(Readers(field.Name()), ExpectedReaders(field)) << field.Name();
    std::string needs;  // of all that decide the scope, the last one is the narrowest
    for (const config::Condition& each : field.conditions) {
      if (each.is_scope) needs = each.needs;
    }
    if (needs.empty()) continue;
    EXPECT_EQ(needs, absl::StrCat("run.workload ", ExpectedReaders(field))) << field.Name();
  }
  for (const auto& [name, readers] : ReadersOfKeys()) {
    const size_t dot = name.find('.');
    EXPECT_NE(list.Find(name.substr(0, dot), name.substr(dot + 1)), nullptr) << name;
  }
}

// Of other sections all keys, or none, describe the problem.
TEST(WorkloadTraitsTest, KeysThatShapeThePolicyOrTrainItDoNotDescribeTheProblem) {
  const std::set<std::string> of_problem = {"run.workload",
                                            "algorithm.reward",
                                            "algorithm.reward_weights",
                                            "algorithm.turn_rewards",
                                            "algorithm.soft_punish_cache",
                                            "algorithm.missing_eos_penalty",
                                            "evaluation.path",
                                            "evaluation.held_out_share",
                                            "evaluation.split_seed",
                                            "evaluation.correct_reward",
                                            "evaluation.num_prompts"};
  const std::set<std::string> shared_sections = {"data", "environment", "process"};
  Config config;
  config::FieldList list;
  Visit(list, config);
  size_t found = 0;
  for (const config::Field& field : list.fields()) {
    bool describes = shared_sections.contains(std::string(field.section)) || of_problem.contains(field.Name());
    for (const WorkloadTraits& each : Workloads()) {  // which keys shape a policy is tested beside the section
      if (each.section == field.section)
        describes = !each.shapes_policy || !each.shapes_policy(each.section, field.key);
    }
    EXPECT_EQ(DescribesProblem(field.section, field.key), describes) << field.Name();
    found += of_problem.count(field.Name());
  }
  EXPECT_EQ(found, of_problem.size());
}

Config MakeConfig(const std::vector<std::string>& overrides) {
  const absl::StatusOr<ResolvedConfig> resolved = LoadConfig("", "c.toml", overrides);
  EXPECT_OK(resolved.status());
  return resolved.ok() ? resolved->config : Config();
}

TEST(WorkloadTraitsTest, RewardsAreEarnedByTurnOnlyWhereTokensHaveReturns) {
  const auto earns = [](const std::vector<std::string>& overrides) { return EarnsByTurn(MakeConfig(overrides)); };
  const std::string ppo = "algorithm.name=ppo", by_turn = "algorithm.turn_rewards=turn";
  EXPECT_TRUE(earns({ppo, by_turn, "environment.name=countdown"}));
  EXPECT_FALSE(earns({ppo, "environment.name=countdown"}));
  EXPECT_FALSE(earns({ppo, by_turn}));
  EXPECT_FALSE(earns({by_turn, "environment.name=countdown"}));
  EXPECT_FALSE(earns({ppo, by_turn, "environment.name=countdown", "run.workload=bandit"}));
  EXPECT_TRUE(earns({ppo, "run.workload=morphogenesis"}));
  EXPECT_TRUE(earns({ppo, "run.workload=quiet_star"}));
  EXPECT_FALSE(earns({"run.workload=quiet_star"}));
  EXPECT_TRUE(earns({ppo, "run.workload=memory_agent"}));
  EXPECT_FALSE(earns({ppo, "run.workload=memory_agent", "memory.reward=agemem"}));
}

TEST(WorkloadTraitsTest, EvaluationsAreHeldOutByAFileOrAShareOrBecauseProblemsDoNotRepeat) {
  const auto holds_out = [](const std::vector<std::string>& overrides) {
    const Config config = MakeConfig(overrides);
    return Traits(config).holds_out(config);
  };
  for (const std::string workload : {"run.workload=completions", "run.workload=quiet_star"}) {
    EXPECT_FALSE(holds_out({workload})) << workload;
    EXPECT_TRUE(holds_out({workload, "evaluation.held_out_share=0.1"})) << workload;
  }
  EXPECT_TRUE(holds_out({"evaluation.path=x"}));
  EXPECT_TRUE(holds_out({"run.workload=bandit"}));
  EXPECT_TRUE(holds_out({"run.workload=morphogenesis"}));
  EXPECT_FALSE(holds_out({"run.workload=memory_agent"}));
}

TEST(WorkloadTraitsTest, RewardsAreAveragedForEvaluationsThatTrackThemAndForThePapersMetrics) {
  const auto averages = [](const std::vector<std::string>& overrides) {
    return AveragesRewards(MakeConfig(overrides));
  };
  const std::string metric = "evaluation.metric_for_best_model=reward_moving_average";
  EXPECT_TRUE(averages({metric, "evaluation.every=2"}));
  EXPECT_FALSE(averages({metric}));
  EXPECT_FALSE(averages({"evaluation.every=2"}));
  EXPECT_TRUE(averages({"run.workload=quiet_star", "quiet_star.paper_metrics=true"}));
  EXPECT_FALSE(averages({"quiet_star.paper_metrics=true"}));
}

TEST(WorkloadTraitsTest, FailuresInARowEndARunAtItsPatience) {
  const std::vector<std::string> tested = {"run.workload=quiet_star", "quiet_star.anti_theater=true"};
  std::vector<std::string> patient = tested;
  patient.emplace_back("quiet_star.anti_theater_patience=3");
  EXPECT_FALSE(FailuresEndRun(MakeConfig(patient), 2));
  EXPECT_TRUE(FailuresEndRun(MakeConfig(patient), 3));
  EXPECT_TRUE(FailuresEndRun(MakeConfig(patient), 4));
  EXPECT_FALSE(FailuresEndRun(MakeConfig(tested), 100));
  EXPECT_FALSE(FailuresEndRun(MakeConfig({"run.workload=quiet_star"}), 100));
}

TEST(WorkloadTraitsTest, EveryWorkloadHasItsMostDecisionsAndNamesTheKeysOfItsPolicy) {
  const auto most = [](const std::vector<std::string>& overrides) {
    const Config config = MakeConfig(overrides);
    return Traits(config).most_decisions(config);
  };
  EXPECT_EQ(most({"rollout.max_completion_length=7"}), 7);
  EXPECT_EQ(most({"run.workload=bandit"}), 1);
  EXPECT_EQ(most({"run.workload=memory_agent", "memory.task=facts"}), 14);
  EXPECT_EQ(most({"run.workload=morphogenesis", "morphogenesis.max_epochs=9"}), 9);
  EXPECT_EQ(most({"run.workload=quiet_star", "data.max_length=3", "quiet_star.max_thought_length=20"}), 6 * 20);
  const auto keys = [](const std::string& workload) {
    return std::string(Traits(MakeConfig({"run.workload=" + workload})).policy_keys);
  };
  EXPECT_THAT(keys("completions"), HasSubstr("[model]"));
  EXPECT_EQ(keys("bandit"), "[bandit]");
  EXPECT_EQ(keys("memory_agent"), keys("completions"));
  EXPECT_THAT(keys("morphogenesis"), HasSubstr("[morphogenesis]"));
  EXPECT_THAT(keys("quiet_star"), AllOf(HasSubstr("[model]"), HasSubstr("[quiet_star]")));
}

TEST(WorkloadTraitsTest, AStepDealsItsGroupsOrEpisodesOrDecisionsToItsMinibatches) {
  const std::vector<std::string> sizes = {"rollout.prompts_per_step=5", "rollout.num_generations=3",
                                          "rollout.max_completion_length=7"};
  const auto config_of = [&](const std::string& more, const std::string& size = "algorithm.num_mini_batches=2") {
    std::vector<std::string> overrides = sizes;
    overrides.insert(overrides.end(), {"algorithm.minibatches_of=" + more, size});
    return MakeConfig(overrides);
  };
  EXPECT_EQ(MinibatchUnits(config_of("groups")), 5);
  EXPECT_EQ(MinibatchUnits(config_of("episodes")), 5 * 3);
  EXPECT_EQ(MinibatchUnits(config_of("decisions")), 5 * 3 * 7);
  EXPECT_EQ(MinibatchesOfIteration(config_of("groups")), 2);
  EXPECT_EQ(MinibatchesOfIteration(config_of("groups", "algorithm.mini_batch_size=2")), 3);
  EXPECT_EQ(MinibatchesOfIteration(config_of("groups", "algorithm.mini_batch_size=5")), 1);
  EXPECT_EQ(MinibatchesOfIteration(config_of("episodes", "algorithm.mini_batch_size=1")), 15);
}

}  // namespace
}  // namespace reprise::rl
