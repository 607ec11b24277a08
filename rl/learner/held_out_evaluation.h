#ifndef RL_LEARNER_HELD_OUT_EVALUATION_H_
#define RL_LEARNER_HELD_OUT_EVALUATION_H_

// The evaluations of a run: what they measure, which was the best one, and whether they trigger early stopping.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rl/evaluation/scores/best_so_far.h"
#include "rl/learner/learner_deps.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

class HeldOutEvaluation {
 public:
  // All references in `parts` must outlive this.
  explicit HeldOutEvaluation(const LearnerDeps& parts);

  // Called before a training step changes the weights. Evaluates before the first one, if evaluation.on_start is set,
  // and returns the metrics, named eval_start_... instead of eval_...; else returns none. This evaluation does not
  // count for the best one. Collective; the same on every rank.
  absl::StatusOr<Metrics> BeforeStep(int64_t step);

  // Called after a training step has changed the weights. Appends the metrics of the step's evaluation, if it has one.
  // Where the best evaluation is tracked, they include eval_best (its metric), eval_best_step, and eval_no_improvement
  // (evaluations since one counted as an improvement). reward_average: of the last training steps, which may be the
  // metric that is tracked. If nothing could be scored, an evaluation lacks that metric: then the three keep their
  // values, and before the first evaluation that has the metric they are omitted. Collective; the same on every rank.
  absl::Status AfterStep(int64_t step, const std::optional<double>& reward_average, Metrics* metrics);

  // Returns whether early stopping is triggered.
  bool ends_training() const { return HasWaitedEnough(best_, best_options_); }

  // The parts of a state that belong to evaluations; empty without any.
  std::vector<double> best_numbers() const;
  absl::Span<const float> best_weights() const { return best_weights_; }
  void Restore(absl::Span<const double> numbers, absl::Span<const float> weights);

 private:
  LearnerDeps parts_;
  BestOptions best_options_;
  BestSoFar best_;
  std::vector<float> best_weights_;
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_HELD_OUT_EVALUATION_H_
