#include "rl/config/evaluation_check.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/config/unknown_name.h"
#include "rl/config/evaluation_section.h"
#include "rl/config/reward_choice.h"
#include "rl/config/workload_traits.h"
#include "rl/evaluation/scores/scores.h"

namespace reprise::rl {
namespace {

constexpr int64_t kMostCompletions = int64_t{1} << 24;  // as in a step

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool DefinesAccuracy(const Config& config) {
  if (!Traits(config).has_completions || config.evaluation.correct_reward || !config.environment.name.empty())
    return true;
  const absl::StatusOr<RewardChoice> rewards = ParseRewardChoice(config.algorithm.reward);
  if (!rewards.ok()) return true;  // CheckConfig refuses them
  return std::any_of(rewards->functions.begin(), rewards->functions.end(),
                     [](const std::string& name) { return name != kProcessReward; });
}

std::vector<std::string> EvaluationMetricNames(const Config& config) {
  const EvaluationConfig& evaluation = config.evaluation;
  std::vector<std::string> names = ScoreMetricNames(evaluation.num_generations, DefinesAccuracy(config));
  for (std::string& name : Traits(config).score_names(config)) names.push_back(std::move(name));
  return names;
}

absl::Status CheckEvaluation(const Config& config) {
  const EvaluationConfig& evaluation = config.evaluation;
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(absl::StrCat(parts...)); };
  if (!evaluation.path.empty() && evaluation.held_out_share > 0) {
    return refuse(
        "evaluation.path and evaluation.held_out_share cannot be combined: the held-out problems are either "
        "those of a file or a share of the run's own; remove one of them");
  }
  if (evaluation.num_prompts * std::max<int64_t>(evaluation.num_generations, 1) > kMostCompletions) {
    return refuse("evaluation.num_prompts ", evaluation.num_prompts, " with evaluation.num_generations ",
                  evaluation.num_generations, " are more than ", kMostCompletions, " completions per evaluation");
  }
  if (evaluation.load_best_model_at_end && !(evaluation.every > 0 && evaluation.keep_best)) {
    return refuse(
        "evaluation.load_best_model_at_end needs a best model: set evaluation.every, and leave "
        "evaluation.keep_best true");
  }
  if (evaluation.on_start && evaluation.every == 0) {
    return refuse("evaluation.on_start adds one to a run's evaluations, but there are none: set evaluation.every");
  }
  if (evaluation.every == 0) {
    if (evaluation.early_stopping_patience == 0) return absl::OkStatus();
    return refuse("evaluation.early_stopping_patience counts evaluations, but there are none: set evaluation.every");
  }
  if (!config.data.path.empty() && evaluation.path.empty() && evaluation.held_out_share == 0) {
    return refuse(
        "evaluation.every with data.path needs held-out problems: set "
        "evaluation.held_out_share, for example to 0.2, or evaluation.path to a file of them");
  }
  std::vector<std::string> names = EvaluationMetricNames(config);
  names.emplace_back(kRewardMovingAverage);
  if (Contains(names, evaluation.metric_for_best_model)) return absl::OkStatus();
  if (Contains(ScoreMetricNames(evaluation.num_generations), evaluation.metric_for_best_model)) {
    return refuse("evaluation.metric_for_best_model ", evaluation.metric_for_best_model,
                  " counts correct answers, and algorithm.reward ", config.algorithm.reward.functions,
                  " does not say which are: set evaluation.correct_reward to the least reward of one, or the metric to "
                  "eval_reward or eval_greedy_reward");
  }
  const std::vector<absl::string_view> views(names.begin(), names.end());
  return UnknownName("evaluation.metric_for_best_model", evaluation.metric_for_best_model, views);
}

}  // namespace reprise::rl
