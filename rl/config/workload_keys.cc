#include "rl/config/workload_keys.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/check.h"
#include "rl/algorithm/token_advantages.h"
#include "rl/config/bandit_section.h"
#include "rl/config/evaluation_section.h"
#include "rl/config/memory_section.h"
#include "rl/config/morphogenesis_section.h"
#include "rl/config/quiet_star_section.h"

namespace reprise::rl {
namespace {

// Keys of sections that every workload reads. These keys are about completions in tokens, their limits and their
// rewards, and are read by completions alone.
constexpr absl::string_view kOfCompletions[] = {"rollout.max_completion_length",
                                                "rollout.top_k",
                                                "rollout.top_p",
                                                "rollout.min_new_tokens",
                                                "rollout.max_prompt_length",
                                                "rollout.truncation_side",
                                                "rollout.stop",
                                                "rollout.stop_token_ids",
                                                "algorithm.reward",
                                                "algorithm.reward_weights",
                                                "algorithm.turn_rewards",
                                                "algorithm.soft_punish_cache",
                                                "algorithm.missing_eos_penalty",
                                                "algorithm.mask_truncated_completions",
                                                "algorithm.value_model",
                                                "algorithm.multi_objective_aggregation",
                                                "evaluation.path",
                                                "evaluation.held_out_share",
                                                "evaluation.split_seed",
                                                "evaluation.correct_reward",
                                                "execution.log_completions",
                                                "execution.decode_slots"};

// Of these, what runs of thoughts read too.
constexpr absl::string_view kAlsoOfThoughts[] = {"rollout.top_k", "rollout.top_p", "evaluation.held_out_share",
                                                 "evaluation.split_seed", "execution.decode_slots"};

struct Reader {
  absl::string_view workload;
  absl::string_view own_section;  // that no other workload reads; "": it has none
  bool (*reads)(absl::string_view section, absl::string_view key);
  int64_t (*most_decisions)(const Config& config);
  absl::string_view policy_keys;
  bool (*holds_out)(const Config& config);
  WorkloadTrends (*trends)(const Config& config) = nullptr;  // null: none
};

bool CompletionsRead(absl::string_view, absl::string_view) { return true; }
int64_t MostTokens(const Config& config) { return config.rollout.max_completion_length; }
int64_t One(const Config&) { return 1; }
int64_t MostEpochs(const Config& config) { return EpochsOf(config.morphogenesis); }
bool Always(const Config&) { return true; }
bool Never(const Config&) { return false; }
bool WhereConfigured(const Config& config) {
  return !config.evaluation.path.empty() || config.evaluation.held_out_share > 0;
}
int64_t MostOperations(const Config& config) { return LengthsOfLastStage(config.memory).most; }

constexpr Reader kReaders[] = {
    {"completions", "", CompletionsRead, MostTokens, "[model], or its model.path, and its [lora]", WhereConfigured},
    {"bandit", "bandit", BanditReads, One, "[bandit]", Always},
    {"memory_agent", "memory", MemoryReads, MostOperations, "[model], or its model.path, and its [lora]", Never},
    {"morphogenesis", "morphogenesis", MorphogenesisReads, MostEpochs,
     "keys of [morphogenesis] that shape the controller", Always},
    {"quiet_star", "quiet_star", QuietStarReads, MostThoughtTokens,
     "[model], or its model.path, its [lora], and the keys of [quiet_star] about mixing and values", WhereConfigured,
     ThoughtTrends}};

const Reader& Named(absl::string_view workload) {
  const auto reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                   [&](const Reader& each) { return each.workload == workload; });
  CHECK(reader != std::end(kReaders));
  return *reader;
}

bool Reads(const Reader& reader, absl::string_view section, absl::string_view key) {
  const bool is_of_another = std::any_of(std::begin(kReaders), std::end(kReaders), [&](const Reader& each) {
    return each.own_section == section && each.workload != reader.workload;
  });
  const std::string name = absl::StrCat(section, ".", key);
  const auto contains = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  const bool is_shared = reader.workload == "quiet_star" && contains(kAlsoOfThoughts);
  const bool is_of_completions = contains(kOfCompletions) && !is_shared;
  if (is_of_another || (is_of_completions && reader.workload != "completions")) return false;
  return reader.reads(section, key);
}

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

}  // namespace

bool WorkloadReads(absl::string_view workload, absl::string_view section, absl::string_view key) {
  return Reads(Named(workload), section, key);
}

std::string ReadersOf(absl::string_view section, absl::string_view key) {
  std::vector<absl::string_view> readers;
  for (const Reader& each : kReaders) {
    if (Reads(each, section, key)) readers.push_back(each.workload);
  }
  if (readers.size() < 2) return readers.empty() ? "" : std::string(readers[0]);
  const absl::string_view last = readers.back();
  readers.pop_back();
  return absl::StrCat(absl::StrJoin(readers, ", "), " or ", last);
}

bool DescribesProblem(absl::string_view section, absl::string_view key) {
  if (section == "data" || section == "environment" || section == "process") return true;
  const bool has_owner = std::any_of(std::begin(kReaders), std::end(kReaders), [&](const Reader& each) {
    return !each.own_section.empty() && each.own_section == section;
  });
  if (has_owner) {
    return !ShapesBanditPolicy(section, key) && !ShapesController(section, key) && !ShapesThoughtPolicy(section, key);
  }
  const std::string name = absl::StrCat(section, ".", key);
  return std::find(std::begin(kOfProblem), std::end(kOfProblem), name) != std::end(kOfProblem);
}

absl::string_view PolicyKeys(const Config& config) { return Named(config.run.workload).policy_keys; }

bool HoldsOut(const Config& config) { return Named(config.run.workload).holds_out(config); }

int64_t MostDecisions(const Config& config) { return Named(config.run.workload).most_decisions(config); }

WorkloadTrends TrendsOf(const Config& config) {
  const Reader& reader = Named(config.run.workload);
  return reader.trends == nullptr ? WorkloadTrends() : reader.trends(config);
}

bool AveragesRewards(const Config& config) {
  const EvaluationConfig& evaluation = config.evaluation;
  return (TracksBest(evaluation) && evaluation.metric_for_best_model == kRewardMovingAverage) ||
         TrendsOf(config).averages_rewards;
}

bool FailuresEndRun(const Config& config, double failures) {
  const WorkloadTrends trends = TrendsOf(config);
  return trends.failures && trends.failures->patience > 0 && failures >= static_cast<double>(trends.failures->patience);
}

int64_t MinibatchUnits(const Config& config) {
  const std::string& unit = config.algorithm.minibatches_of;
  int64_t units = config.rollout.prompts_per_step;
  if (unit != "groups") units *= config.rollout.num_generations;
  return unit == "decisions" ? units * MostDecisions(config) : units;
}

bool EarnsByTurn(const Config& config, const AlgorithmRow& row) {
  if (!HasTokenReturns(row.advantage)) return false;
  if (config.run.workload == "memory_agent") return config.memory.reward == "composite";
  if (config.run.workload == "morphogenesis") return true;
  if (config.run.workload == "quiet_star") return true;
  return config.run.workload == "completions" && !config.environment.name.empty() &&
         config.algorithm.turn_rewards == "turn";
}

int64_t MinibatchesOfIteration(const Config& config) {
  const int64_t size = config.algorithm.mini_batch_size;
  return size > 0 ? (MinibatchUnits(config) + size - 1) / size : config.algorithm.num_mini_batches;
}

}  // namespace reprise::rl
