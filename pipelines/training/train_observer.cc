#include "pipelines/training/train_observer.h"

#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status/status_macros.h"
#include "pipelines/program/program.h"
#include "pipelines/stored/describe_step.h"
#include "pipelines/stored/reward_curve.h"

namespace reprise {

TrainObserver::TrainObserver(const rl::Config& config, bool json, RunFiles files,
                             const std::vector<rl::StepRecord>& before, int64_t first_step, TokenText text,
                             Logger& logger)
    : config_(config),
      json_(json),
      text_(std::move(text)),
      last_completions_(-std::numeric_limits<double>::infinity()),
      files_(std::move(files)),
      logger_(logger),
      progress_({first_step, config.warm_up.steps + config.run.steps, config.execution.log_every}, &logger, Seconds) {
  for (const rl::StepRecord& record : before) {
    if (record.phase == rl::Phase::kTraining) rewards_.push_back(MetricOf(record, "reward"));
  }
}

absl::Status TrainObserver::Record(const rl::StepRecord& record) {
  Show(record, /*again=*/false);
  if (record.phase == rl::Phase::kTraining) {
    rewards_.push_back(MetricOf(record, "reward"));
    WatchRewards(record);
    ShowCompletions(record);
  }
  ASSIGN_OR_RETURN(const std::string metrics, files_.Record(record));
  if (json_) std::printf("%s\n", metrics.c_str());
  return absl::OkStatus();
}

void TrainObserver::WatchRewards(const rl::StepRecord& record) {
  constexpr int64_t kSteps = 10;
  const bool equal = config_.rollout.num_generations > 1 && MetricOf(record, "frac_reward_zero_std") == 1;
  steps_of_equal_rewards_ = equal ? steps_of_equal_rewards_ + 1 : 0;
  if (steps_of_equal_rewards_ != kSteps) return;
  if (MetricOf(record, "frac_unscorable") == 1) {
    logger_.Warning(absl::StrFormat(
        "for %d steps no completion could be scored (the external process replied null for each), so nothing is "
        "learned",
        kSteps));
    return;
  }
  const double reward = MetricOf(record, "reward");
  logger_.Warning(absl::StrFormat(
      "for %d steps all completions of every prompt have had equal rewards (the last mean: %.3f), so none is better "
      "than another and nothing is learned from them; where the task is too hard, easier problems, a longer warm-up "
      "(warm_up.steps), more completions of a prompt (rollout.num_generations), a higher rollout.temperature or a "
      "reward for a part of the answer (algorithm.reward \"exact_match character_match\") usually help; where it is "
      "too easy, harder problems",
      kSteps, reward));
}

void TrainObserver::ShowCompletions(const rl::StepRecord& record) {
  constexpr double kSecondsBetween = 10;
  if (!config_.execution.log_completions) return;
  const double now = Seconds();
  const int64_t log_every = config_.execution.log_every;
  const int64_t number = config_.warm_up.steps + record.step;
  const bool is_due = log_every > 0 ? number % log_every == 0 : now - last_completions_ >= kSecondsBetween;
  if (!is_due) return;
  last_completions_ = now;
  for (const std::string& line : SampleLines(record, text_)) {
    logger_.Info(absl::StrCat("completion of step ", number, ": ", line));
  }
}

void TrainObserver::Recall(const rl::StepRecord& record) { Show(record, /*again=*/true); }

void TrainObserver::Show(const rl::StepRecord& record, bool again) {
  const bool warm_up = record.phase == rl::Phase::kWarmUp;
  std::string detail = warm_up ? absl::StrFormat("warm-up loss %.3f", MetricOf(record, "loss"))
                               : absl::StrFormat("reward %.3f", MetricOf(record, "reward"));
  // Above 0 in every evaluation, even if no answer is correct.
  const bool is_evaluated = MetricOf(record, "eval_greedy_accuracy_high") > 0;
  if (is_evaluated) {
    const bool holds_out = !config_.evaluation.path.empty() || config_.evaluation.held_out_share > 0;
    detail += absl::StrFormat(", %s %.3f", holds_out ? "held-out accuracy" : "accuracy in the evaluation",
                              MetricOf(record, "eval_greedy_accuracy"));
  }
  if (again) detail += " (as committed)";
  progress_.Update(warm_up ? record.step : config_.warm_up.steps + record.step, detail);
}

}  // namespace reprise
