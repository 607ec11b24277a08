#include "pipelines/training/train_observer.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status/status_macros.h"
#include "pipelines/program/program.h"
#include "pipelines/stored/describe_step.h"
#include "pipelines/stored/scored_reward.h"
#include "rl/config/workload_traits.h"

namespace reprise {
namespace {

// Returns what the step's evaluation measured: ", held-out reward 0.500, accuracy 0.250". Only evaluations in which
// something could be scored have a reward, and only those that know what is correct an accuracy. Without an evaluation,
// returns "".
std::string EvaluationText(const rl::StepResults& step, bool is_held_out) {
  std::string text;
  for (const auto& [name, shown] : {std::pair{"eval_greedy_reward", "reward"}, {"eval_greedy_accuracy", "accuracy"}}) {
    const auto metric = std::find_if(step.metrics.begin(), step.metrics.end(),
                                     [name = name](const auto& named) { return named.first == name; });
    if (metric == step.metrics.end()) continue;
    if (text.empty())
      absl::StrAppend(&text, is_held_out ? ", held-out" : ", evaluation's");
    else
      absl::StrAppend(&text, " and");
    absl::StrAppendFormat(&text, " %s %.3f", shown, metric->second);
  }
  return text;
}

}  // namespace

TrainObserver::TrainObserver(const rl::Config& config, ShownSteps shown, RunFiles files,
                             const std::vector<rl::StepResults>& before, int64_t first_step, TokenText text,
                             Logger& logger)
    : config_(config),
      shown_(shown),
      text_(std::move(text)),
      last_completions_(-std::numeric_limits<double>::infinity()),
      files_(std::move(files)),
      logger_(logger),
      progress_({first_step, config.sft.steps + config.run.steps, config.execution.log_every}, &logger, Seconds) {
  for (const rl::StepResults& step : before) {
    if (step.phase == rl::Phase::kTraining) rewards_.push_back(ScoredReward(step));
  }
}

absl::Status TrainObserver::Record(const rl::StepTables& step) {
  const rl::StepResults results = rl::ReadResults(step);
  Show(results, /*again=*/false);
  if (step.phase == rl::Phase::kTraining) {
    rewards_.push_back(ScoredReward(results));
    WatchRewards(results);
    WatchAnomalies(results);
    RETURN_IF_ERROR(ShowCompletions(step));
  }
  ASSIGN_OR_RETURN(const std::string metrics, files_.Record(results));
  if (shown_.as_json) std::printf("%s\n", metrics.c_str());
  return absl::OkStatus();
}

void TrainObserver::WatchRewards(const rl::StepResults& step) {
  constexpr int64_t kSteps = 10;
  const bool equal = config_.rollout.num_generations > 1 && GetMetric(step, "frac_reward_zero_std") == 1;
  steps_of_equal_rewards_ = equal ? steps_of_equal_rewards_ + 1 : 0;
  if (steps_of_equal_rewards_ != kSteps) return;
  if (GetMetric(step, "frac_unscorable") == 1) {
    logger_.Warning(absl::StrFormat(
        "for %d steps no completion could be scored (the external process replied null for each), so nothing is "
        "learned",
        kSteps));
    return;
  }
  const bool has_parts = rl::Traits(config_).has_completions;
  logger_.Warning(absl::StrFormat(
      "for %d steps all %s of every prompt have had equal rewards (the last mean: %.3f), so none is better than "
      "another and nothing is learned from them; where the task is too hard, easier problems, a longer SFT phase "
      "(sft.steps), more samples of a prompt (rollout.num_generations)%s a higher rollout.temperature%s usually "
      "help; where it is too easy, harder problems",
      kSteps, has_parts ? "completions" : "episodes", GetMetric(step, "reward"), has_parts ? "," : " or",
      has_parts ? " or a reward for a part of the answer (algorithm.reward \"exact_match character_match\")" : ""));
}

void TrainObserver::WatchAnomalies(const rl::StepResults& step) {
  if (!config_.algorithm.diagnostics) return;
  for (const rl::Anomaly& anomaly : rl::FindAnomalies(step.metrics)) {
    if (!seen_anomalies_.insert(anomaly.kind).second) continue;
    logger_.Warning(absl::StrCat(rl::AnomalyName(anomaly.kind), ": after step ", step.step, " ", rl::Describe(anomaly),
                                 " (later steps are not reported)"));
  }
}

absl::Status TrainObserver::ShowCompletions(const rl::StepTables& step) {
  constexpr double kSecondsBetween = 10;
  if (!config_.execution.log_completions) return absl::OkStatus();
  const double now = Seconds();
  const int64_t log_every = config_.execution.log_every;
  const int64_t number = config_.sft.steps + step.step;
  const bool is_due = log_every > 0 ? number % log_every == 0 : now - last_completions_ >= kSecondsBetween;
  if (!is_due) return absl::OkStatus();
  last_completions_ = now;
  ASSIGN_OR_RETURN(const std::vector<std::string> lines, SampleLines(config_, step, text_));
  for (const std::string& line : lines) {
    logger_.Info(absl::StrCat("completion of step ", number, ": ", line));
  }
  return absl::OkStatus();
}

void TrainObserver::Recall(const rl::StepTables& step) { Show(rl::ReadResults(step), /*again=*/true); }

void TrainObserver::Show(const rl::StepResults& step, bool again) {
  const bool sft = step.phase == rl::Phase::kSft;
  std::string detail = sft ? absl::StrFormat("SFT loss %.3f", GetMetric(step, "loss")) : ScoredRewardText(step);
  detail += EvaluationText(step, shown_.are_held_out);
  if (const double best = GetMetric(step, "eval_best_step"); best > 0) {
    best_evaluation_ = absl::StrFormat("%s %.3f after step %.0f", config_.evaluation.metric_for_best_model,
                                       GetMetric(step, "eval_best"), best);
  }
  if (again) detail += " (as committed)";
  progress_.Update(sft ? step.step : config_.sft.steps + step.step, detail);
}

}  // namespace reprise
