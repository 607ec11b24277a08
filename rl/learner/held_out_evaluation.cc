#include "rl/learner/held_out_evaluation.h"

#include <algorithm>
#include <string>

#include "core/status/status_macros.h"
#include "rl/config/evaluation_section.h"
#include "rl/record/recorded.h"

namespace reprise::rl {
namespace {

// Returns the number by which the evaluation is compared with others; nullopt where nothing could be scored.
std::optional<double> ComparedMetric(const EvaluationConfig& evaluation, const Metrics& measured,
                                     const std::optional<double>& reward_average) {
  const std::string& name = evaluation.metric_for_best_model;
  if (name == kRewardMovingAverage) return reward_average;
  const auto metric =
      std::find_if(measured.begin(), measured.end(), [&](const auto& named) { return named.first == name; });
  return metric == measured.end() ? std::nullopt : std::make_optional(metric->second);
}

}  // namespace

HeldOutEvaluation::HeldOutEvaluation(const LearnerDeps& parts)
    : parts_(parts),
      best_options_{parts.config.evaluation.greater_is_better, parts.config.evaluation.early_stopping_patience,
                    parts.config.evaluation.early_stopping_threshold} {}

absl::StatusOr<Metrics> HeldOutEvaluation::BeforeStep(int64_t step) {
  if (step != 1 || !parts_.config.evaluation.on_start) return Metrics();
  parts_.Enter(StepStage::kEvaluate, Phase::kTraining, step);
  ASSIGN_OR_RETURN(Metrics metrics, parts_.workload.Evaluate(/*step=*/0, /*reporting_step=*/1));
  for (auto& [name, value] : metrics) name.insert(absl::string_view("eval_").size(), "start_");
  return metrics;
}

absl::Status HeldOutEvaluation::AfterStep(int64_t step, const std::optional<double>& reward_average, Metrics* metrics) {
  const EvaluationConfig& evaluation = parts_.config.evaluation;
  if (!HasEvaluation(parts_.config, Phase::kTraining, step)) return absl::OkStatus();
  parts_.Enter(StepStage::kEvaluate, Phase::kTraining, step);
  ASSIGN_OR_RETURN(const Metrics measured, parts_.workload.Evaluate(step, step));
  metrics->insert(metrics->end(), measured.begin(), measured.end());
  if (!TracksBest(evaluation)) return absl::OkStatus();
  const std::optional<double> value = ComparedMetric(evaluation, measured, reward_average);
  if (value) best_ = NextBest(best_, best_options_, step, *value);
  if (best_.step == 0) return absl::OkStatus();
  if (best_.step == step && evaluation.keep_best) {
    const absl::Span<const float> weights = parts_.workload.policy().parameters();
    best_weights_.assign(weights.begin(), weights.end());
  }
  metrics->emplace_back("eval_best", best_.value);
  metrics->emplace_back("eval_best_step", static_cast<double>(best_.step));
  metrics->emplace_back("eval_no_improvement", static_cast<double>(best_.waited));
  return absl::OkStatus();
}

std::vector<double> HeldOutEvaluation::best_numbers() const {
  return best_.step == 0 ? std::vector<double>() : BestToNumbers(best_);
}

void HeldOutEvaluation::Restore(absl::Span<const double> numbers, absl::Span<const float> weights) {
  if (!numbers.empty()) best_ = BestFromNumbers(numbers);
  best_weights_.assign(weights.begin(), weights.end());
}

}  // namespace reprise::rl
