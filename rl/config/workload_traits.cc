#include "rl/config/workload_traits.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/check.h"
#include "rl/algorithm/token_advantages.h"
#include "rl/config/evaluation_section.h"
#include "rl/config/quiet_star_check.h"

namespace reprise::rl {
namespace {

bool Always(const Config&) { return true; }
bool Never(const Config&) { return false; }
bool WhereConfigured(const Config& config) {
  return !config.evaluation.path.empty() || config.evaluation.held_out_share > 0;
}

// Lists a section whose keys depend on no other.
template <auto visit, auto keys>
void VisitOwn(config::FieldList& list, Config& config, const Conditions&, const config::Condition& scope) {
  visit(list, config.*keys, scope);
}

void VisitEpisodes(config::FieldList& list, Config& config, const Conditions&, const config::Condition& scope) {
  VisitEnvironment(list, config.environment, scope);
  VisitProcess(list, config.process, scope);
}

constexpr WorkloadTraits kWorkloads[] = {
    {.name = "completions",
     .what = "a language model that completes prompts or plays episodes with an environment",
     .policy_keys = "[model], or its model.path, and its [lora]",
     .visit = VisitEpisodes,
     .has_language_model = true,
     .has_texts = true,
     .has_completions = true,
     .has_time_limits = true,
     .decays_only_values = true,
     .holds_out = WhereConfigured,
     .most_decisions = [](const Config& config) { return config.rollout.max_completion_length; },
     .rewards_turns =
         [](const Config& config) { return !config.environment.name.empty() && config.algorithm.reward.by_turn; },
     .turn_rewards = "algorithm.turn_rewards turn",
     .final_reward = "algorithm.turn_rewards episode"},
    {.name = "bandit",
     .what = "a small policy that chooses actions by features ([bandit])",
     .policy_keys = "[bandit]",
     .visit = VisitOwn<VisitBandit, &Config::bandit>,
     .section = "bandit",
     .shapes_policy = ShapesBanditPolicy,
     .has_one_decision = true,
     .masks_actions = true,
     .decays_only_values = true,
     .holds_out = Always,
     .most_decisions = [](const Config&) { return int64_t{1}; },
     .rewards_turns = Never,
     .check = [](const Config& config) { return CheckBandit(config.bandit); }},
    {.name = "memory_agent",
     .what = "a language model that chooses operations on a memory by texts ([memory])",
     .policy_keys = "[model], or its model.path, and its [lora]",
     .visit = VisitOwn<VisitMemory, &Config::memory>,
     .section = "memory",
     .has_language_model = true,
     .holds_out = Never,
     .most_decisions = [](const Config& config) { return LengthsOfLastStage(config.memory).most; },
     .rewards_turns = [](const Config& config) { return config.memory.reward == MemoryReward::kComposite; },
     .turn_rewards = "memory.reward composite",
     .final_reward = "memory.reward agemem",
     .score_names = [](const Config& config) { return MemoryScoreNames(config.evaluation.num_generations); },
     .check = [](const Config& config) { return CheckMemory(config.memory, config.evaluation.num_prompts); }},
    {.name = "quiet_star",
     .what = "a language model that thinks between the tokens of a text ([quiet_star])",
     .policy_keys = "[model], or its model.path, its [lora], and the keys of [quiet_star] about mixing and values",
     .visit = VisitThoughts,
     .section = "quiet_star",
     .shapes_policy = ShapesThoughtPolicy,
     .has_language_model = true,
     .has_texts = true,
     .has_turns = true,
     .holds_out = WhereConfigured,
     .most_decisions = MostThoughtTokens,
     .rewards_turns = Always,
     .turn_rewards = "run.workload quiet_star",
     .never_draws_some = true,
     .score_names = [](const Config& config) { return ThoughtScoreNames(config.quiet_star); },
     .check = CheckQuietStar,
     .trends = [](const Config& config) { return ThoughtTrends(config.quiet_star); }},
    {.name = "morphogenesis",
     .what = "a small policy that decides how a network grows while it trains ([morphogenesis])",
     .policy_keys = "keys of [morphogenesis] that shape the controller",
     .visit = VisitOwn<VisitMorphogenesis, &Config::morphogenesis>,
     .section = "morphogenesis",
     .shapes_policy = IsControllerShapeKey,
     .has_time_limits = true,
     .masks_actions = true,
     .decays_only_values = true,
     .holds_out = Always,
     .most_decisions = [](const Config& config) { return CountEpochs(config.morphogenesis); },
     .rewards_turns = Always,
     .turn_rewards = "morphogenesis.reward",
     .score_names = [](const Config& config) { return GrowthScoreNames(config.evaluation.num_generations); },
     .check =
         [](const Config& config) {
           return CheckMorphogenesis(config.morphogenesis, config.algorithm.update.num_iterations,
                                     config.algorithm.advantage.baseline);
         }}};

// Beside the sections of problems.
constexpr absl::string_view kOfProblem[] = {"run.workload",
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
constexpr absl::string_view kSectionsOfProblem[] = {"data", "environment", "process"};

}  // namespace

const WorkloadTraits& Traits(const Config& config) {
  const auto found = std::find_if(std::begin(kWorkloads), std::end(kWorkloads),
                                  [&](const WorkloadTraits& each) { return each.name == config.run.workload; });
  CHECK(found != std::end(kWorkloads));
  return *found;
}

absl::Span<const WorkloadTraits> Workloads() { return kWorkloads; }

absl::string_view WorkloadsDoc() {
  static const std::string& doc =
      *new std::string(absl::StrCat("What the run trains: ",
                                    absl::StrJoin(kWorkloads, "; ",
                                                  [](std::string* text, const WorkloadTraits& each) {
                                                    absl::StrAppend(text, each.name, ", ", each.what);
                                                  }),
                                    "."));
  return doc;
}

std::vector<absl::string_view> WorkloadNames() {
  std::vector<absl::string_view> names;
  for (const WorkloadTraits& each : kWorkloads) names.push_back(each.name);
  return names;
}

std::string WorkloadNames(bool WorkloadTraits::* trait) {
  std::vector<absl::string_view> names;
  for (const WorkloadTraits& each : kWorkloads) {
    if (each.*trait) names.push_back(each.name);
  }
  if (names.size() < 2) return names.empty() ? "" : std::string(names[0]);
  const absl::string_view last = names.back();
  names.pop_back();
  return absl::StrCat(absl::StrJoin(names, ", "), " or ", last);
}

bool DescribesProblem(absl::string_view section, absl::string_view key) {
  const auto contains = [](const auto& names, absl::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  for (const WorkloadTraits& each : kWorkloads) {
    if (each.section == section) return each.shapes_policy == nullptr || !each.shapes_policy(section, key);
  }
  return contains(kSectionsOfProblem, section) || contains(kOfProblem, absl::StrCat(section, ".", key));
}

bool AveragesRewards(const Config& config) {
  const EvaluationConfig& evaluation = config.evaluation;
  return (TracksBest(evaluation) && evaluation.metric_for_best_model == kRewardMovingAverage) ||
         Traits(config).trends(config).averages_rewards;
}

bool FailuresEndRun(const Config& config, double failures) {
  const WorkloadTrends trends = Traits(config).trends(config);
  return trends.failures && trends.failures->patience > 0 && failures >= static_cast<double>(trends.failures->patience);
}

int64_t MinibatchUnits(const Config& config) {
  const MinibatchUnit unit = config.algorithm.update.unit;
  int64_t units = config.rollout.prompts_per_step;
  if (unit != MinibatchUnit::kGroup) units *= config.rollout.num_generations;
  return unit == MinibatchUnit::kDecision ? units * Traits(config).most_decisions(config) : units;
}

bool EarnsByTurn(const Config& config) {
  return HasTokenReturns(config.algorithm.advantage) && Traits(config).rewards_turns(config);
}

int64_t MinibatchesOfIteration(const Config& config) {
  const int64_t size = config.algorithm.update.mini_batch_size;
  return size > 0 ? (MinibatchUnits(config) + size - 1) / size : config.algorithm.update.num_mini_batches;
}

}  // namespace reprise::rl
