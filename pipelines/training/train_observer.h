#ifndef PIPELINES_TRAINING_TRAIN_OBSERVER_H_
#define PIPELINES_TRAINING_TRAIN_OBSERVER_H_

#include <set>
#include <vector>

#include "absl/status/status.h"
#include "core/log/logger.h"
#include "core/log/progress.h"
#include "pipelines/stored/token_text.h"
#include "pipelines/training/execution_counts.h"
#include "pipelines/training/run_files.h"
#include "rl/config/config.h"
#include "rl/metrics/anomalies.h"
#include "rl/record/record_schema.h"

namespace reprise {

struct ShownSteps {
  bool as_json = false;
  bool are_held_out = false;  // whether the problems of evaluations are known to be
};

// Rank 0's output for every step of a run besides its artifact: progress, log lines and text files.
class TrainObserver {
 public:
  // `before`: the run's earlier steps. first_step: the step after which the progress begins. `text`: shows the policy's
  // tokens.
  TrainObserver(const rl::Config& config, ShownSteps shown, RunFiles files, const std::vector<rl::StepResults>& before,
                int64_t first_step, TokenText text, Logger& logger);

  // Records a new step.
  absl::Status Record(const rl::StepTables& step);
  // Shows a committed step that was re-executed.
  void Recall(const rl::StepTables& step);

  absl::Status Finish(const ExecutionCounts& counts) { return files_.Finish(counts); }

  // "eval_greedy_reward 0.938 after step 40": the metric of the best evaluation so far; empty: there was none.
  const std::string& best_evaluation() const { return best_evaluation_; }

  // The rewards of all training steps so far; NaN where nothing was scored.
  const std::vector<double>& rewards() const { return rewards_; }

 private:
  void Show(const rl::StepResults& step, bool again);
  // Warns once whenever the rewards of every prompt's completions have been equal for some steps.
  void WatchRewards(const rl::StepResults& step);
  // With algorithm.diagnostics, warns of each kind of anomaly when it is first seen.
  void WatchAnomalies(const rl::StepResults& step);
  // Logs completions if execution.log_completions is set and they are due.
  absl::Status ShowCompletions(const rl::StepTables& step);

  const rl::Config config_;
  const ShownSteps shown_;
  const TokenText text_;
  int64_t steps_of_equal_rewards_ = 0;
  std::set<rl::AnomalyKind> seen_anomalies_;
  double last_completions_;  // the last time; -infinity before the first
  RunFiles files_;
  Logger& logger_;
  Progress progress_;
  std::vector<double> rewards_;
  std::string best_evaluation_;
};

}  // namespace reprise

#endif  // PIPELINES_TRAINING_TRAIN_OBSERVER_H_
