#ifndef RL_LEARNER_HELD_OUT_EVALUATION_H_
#define RL_LEARNER_HELD_OUT_EVALUATION_H_

// The evaluations of a run: what they measure, which was the best one, and whether they trigger early stopping.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rl/episodes/step_rewards.h"
#include "rl/episodes/turn_episodes.h"
#include "rl/evaluation/scores/best_so_far.h"
#include "rl/learner/learner_parts.h"
#include "rl/metrics/step_metrics.h"
#include "rl/record/step_record.h"
#include "rl/rollout/generate.h"

namespace reprise::rl {

// Returns how completions of an evaluation after training step `step` are sampled, on one of `ranks` ranks: as in
// training (GenerateOptionsOf), but with random draws of their own, and no more completions at a time than in a
// training step.
GenerateOptions EvaluationOptionsOf(const Config& config, const models::Tokenizer& tokenizer, const TurnRules& rules,
                                    int64_t step, int ranks);

// Returns how the multi-turn episodes of an evaluation are played. InvalidArgument as TurnPartsOf.
absl::StatusOr<TurnParts> EvaluationTurnsOf(const Config& config, Environment* environment, ProcessClient* process,
                                            const std::vector<int32_t>& end_tokens);

class HeldOutEvaluation {
 public:
  // All references in `parts` must outlive this. Errors: those of HeldOutTasks, where there are evaluations.
  static absl::StatusOr<HeldOutEvaluation> Create(const LearnerParts& parts, const RewardOptions& rewards);

  // Called before a training step changes the weights. Evaluates before the first one, if evaluation.on_start is set,
  // and returns the metrics, named eval_start_... instead of eval_...; else returns none. This evaluation does not
  // count for the best one. Collective; the same on every rank.
  absl::StatusOr<Metrics> BeforeStep(int64_t step);

  // Called after a training step has changed the weights. Appends the metrics of the step's evaluation, if it has one.
  // Where the best evaluation is tracked, they include eval_best (its metric), eval_best_step, and eval_no_improvement
  // (evaluations since one counted as an improvement). Collective; the same on every rank.
  absl::Status AfterStep(int64_t step, Metrics* metrics);

  // Returns the external process's replies in these evaluations to this rank's problems, since the last call.
  std::vector<EvaluationReply> TakeReplies();

  // Returns whether early stopping is triggered.
  bool ends_training() const { return HasWaitedEnough(best_, best_options_); }

  // The parts of a state that belong to evaluations; empty without any.
  std::vector<double> best_numbers() const;
  absl::Span<const float> best_weights() const { return best_weights_; }
  void Restore(absl::Span<const double> numbers, absl::Span<const float> weights);

 private:
  HeldOutEvaluation(const LearnerParts& parts, const RewardOptions& rewards, const TurnParts& turns,
                    std::vector<TaskRecord> tasks);

  // step: the step after which the weights are measured; 0: before the first. told_by: the step that reports the
  // metrics.
  absl::StatusOr<Metrics> Measure(int64_t step, int64_t told_by);

  LearnerParts parts_;
  RewardOptions rewards_;
  TurnParts turns_;
  BestOptions best_options_;
  std::vector<TaskRecord> tasks_;
  BestSoFar best_;
  std::vector<EvaluationReply> replies_;
  std::vector<float> best_weights_;
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_HELD_OUT_EVALUATION_H_
