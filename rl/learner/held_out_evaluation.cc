#include "rl/learner/held_out_evaluation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/comm/agree.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "rl/config/evaluation_section.h"
#include "rl/evaluation/evaluate.h"
#include "rl/evaluation/held_out_tasks.h"
#include "rl/learner/choices.h"
#include "rl/record/recorded.h"

namespace reprise::rl {

GenerateOptions EvaluationOptionsOf(const Config& config, const models::Tokenizer& tokenizer, const TurnRules& rules,
                                    int64_t step, int ranks) {
  GenerateOptions options = GenerateOptionsOf(config, tokenizer, rules);
  options.num_generations = config.evaluation.num_generations;
  options.purpose = Purpose::kEvaluationSampling;
  options.step = static_cast<uint64_t>(step);
  const int64_t of_training = config.rollout.prompts_per_step * config.rollout.num_generations;
  if (options.slots == 0) options.slots = (of_training + ranks - 1) / ranks;
  return options;
}

absl::StatusOr<TurnParts> EvaluationTurnsOf(const Config& config, Environment* environment, ProcessClient* process,
                                            const std::vector<int32_t>& end_tokens) {
  ASSIGN_OR_RETURN(TurnParts turns, TurnPartsOf(config, environment, process, end_tokens));
  turns.purpose = Purpose::kEvaluationTask;
  return turns;
}

HeldOutEvaluation::HeldOutEvaluation(const LearnerParts& parts, const RewardOptions& rewards, const TurnParts& turns,
                                     std::vector<TaskRecord> tasks)
    : parts_(parts),
      rewards_(rewards),
      turns_(turns),
      best_options_{parts.config.evaluation.greater_is_better, parts.config.evaluation.early_stopping_patience,
                    parts.config.evaluation.early_stopping_threshold},
      tasks_(std::move(tasks)) {}

absl::StatusOr<HeldOutEvaluation> HeldOutEvaluation::Create(const LearnerParts& parts, const RewardOptions& rewards) {
  std::vector<TaskRecord> tasks;
  if (parts.config.evaluation.every > 0) {
    absl::StatusOr<std::vector<TaskRecord>> drawn =
        HeldOutTasks(parts.config, parts.held_out, parts.tokenizer, parts.model.config().max_position_embeddings);
    ASSIGN_OR_RETURN(tasks, AgreeOk(parts.comm, std::move(drawn)));
  }
  ASSIGN_OR_RETURN(const TurnParts turns, EvaluationTurnsOf(parts.config, parts.environment, parts.process,
                                                            parts.model.config().eos_token_id));
  return HeldOutEvaluation(parts, rewards, turns, std::move(tasks));
}

absl::StatusOr<Metrics> HeldOutEvaluation::Measure(int64_t step, int64_t told_by) {
  const bool on_start = step < told_by;
  std::vector<EvaluationReply> stored;
  const std::vector<EvaluationReply>* const all = parts_.source.StoredEvaluation(told_by);
  if (all != nullptr) {
    std::copy_if(all->begin(), all->end(), std::back_inserter(stored),
                 [&](const EvaluationReply& said) { return said.on_start == on_start; });
  }
  ASSIGN_OR_RETURN(
      Evaluation evaluation,
      Evaluate({parts_.model, parts_.tokenizer, rewards_, turns_, parts_.comm, parts_.pool,
                all == nullptr ? nullptr : &stored},
               tasks_, EvaluationOptionsOf(parts_.config, parts_.tokenizer, turns_.rules, step, parts_.comm.size())));
  for (EvaluationReply& said : evaluation.replies) {
    said.on_start = on_start;
    replies_.push_back(std::move(said));
  }
  return ScoreMetrics(evaluation.score_P, parts_.config.evaluation.num_generations);
}

absl::StatusOr<Metrics> HeldOutEvaluation::BeforeStep(int64_t step) {
  if (step != 1 || !parts_.config.evaluation.on_start) return Metrics();
  ASSIGN_OR_RETURN(Metrics metrics, Measure(/*step=*/0, /*told_by=*/1));
  for (auto& [name, value] : metrics) name.insert(absl::string_view("eval_").size(), "start_");
  return metrics;
}

absl::Status HeldOutEvaluation::AfterStep(int64_t step, Metrics* metrics) {
  const EvaluationConfig& evaluation = parts_.config.evaluation;
  if (!HasEvaluation(parts_.config, Phase::kTraining, step)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Metrics measured, Measure(step, step));
  metrics->insert(metrics->end(), measured.begin(), measured.end());
  if (!TracksBest(evaluation)) return absl::OkStatus();
  const auto metric = std::find_if(measured.begin(), measured.end(),
                                   [&](const auto& named) { return named.first == evaluation.metric_for_best_model; });
  CHECK(metric != measured.end());
  best_ = NextBest(best_, best_options_, step, metric->second);
  if (best_.step == step && evaluation.keep_best) {
    best_weights_.assign(parts_.model.parameters().begin(), parts_.model.parameters().end());
  }
  metrics->emplace_back("eval_best", best_.value);
  metrics->emplace_back("eval_best_step", static_cast<double>(best_.step));
  metrics->emplace_back("eval_no_improvement", static_cast<double>(best_.waited));
  return absl::OkStatus();
}

std::vector<EvaluationReply> HeldOutEvaluation::TakeReplies() { return std::exchange(replies_, {}); }

std::vector<double> HeldOutEvaluation::best_numbers() const {
  return best_.step == 0 ? std::vector<double>() : BestToNumbers(best_);
}

void HeldOutEvaluation::Restore(absl::Span<const double> numbers, absl::Span<const float> weights) {
  if (!numbers.empty()) best_ = BestFromNumbers(numbers);
  best_weights_.assign(weights.begin(), weights.end());
}

}  // namespace reprise::rl
