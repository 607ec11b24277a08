#ifndef RL_LEARNER_LEARNER_H_
#define RL_LEARNER_LEARNER_H_

// The training loop. Every rank runs it; all collective calls are in it and below it, in the same order everywhere.

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rl/learner/held_out_evaluation.h"
#include "rl/learner/learner_deps.h"
#include "rl/learner/learner_state.h"
#include "rl/learner/schedule_state.h"
#include "rl/learner/stages.h"
#include "rl/learner/step_context.h"
#include "rl/learner/trends.h"

namespace reprise::rl {

// Counts of the work that was done, for tests of the execution keys.
struct LearnerCounts : PassCounts {
  int64_t activation_bytes = 0;  // of training
  int64_t helped_pieces = 0;     // pieces of work taken over by idle threads; timing-dependent
  ExchangeCounts exchange;
};

class Learner {
 public:
  static absl::StatusOr<std::unique_ptr<Learner>> Create(const LearnerDeps& parts);

  // Resumes after the state's step instead of starting with the first one. Called before Run, with the same state on
  // every rank.
  void Restore(const LearnerState& state);

  // Runs the SFT phase, then training until run.steps, until early stopping, the sink or an interrupt ends it, or until
  // `stop_after_step` (0: no limit). If the run is then over and evaluation.load_best_model_at_end is set, the model
  // has the weights of the best evaluation afterwards. Collective; returns the same status on every rank.
  absl::Status Run(int64_t stop_after_step);

  // The last completed step.
  Phase phase() const { return phase_; }
  int64_t step() const { return step_; }
  // Returns whether no step of the run follows: it has made run.steps steps, or early stopping has ended it.
  bool is_over() const;

  LearnerCounts counts() const;

  // For programs that execute the stages of a step themselves.
  StepContext& step_context() { return *step_context_; }

 private:
  explicit Learner(std::unique_ptr<StepContext> step_context);

  absl::StatusOr<bool> RunSteps();  // false: ended by the sink or an interrupt
  void BeginTraining();
  int64_t LastStep() const;  // the last training step of this process
  void SetWeights(absl::Span<const float> weights, Policy* policy);
  absl::StatusOr<bool> SftStep(int64_t number);
  absl::StatusOr<bool> TrainStep(int64_t number);
  // Advances to the batch's step, which counts as done before it is committed.
  StepEnd CompleteStep(const StepBatch& batch, const StepUpdates& updates, double learning_rate, Metrics evaluation);

  const std::unique_ptr<StepContext> step_context_;
  HeldOutEvaluation evaluation_;
  ScheduleState schedules_;  // of training, before the next step
  SftWindow sft_;
  Phase phase_ = Phase::kSft;
  int64_t step_ = 0;             // last completed one of the phase
  int64_t stop_after_step_ = 0;  // of training; 0: none
  int64_t num_tokens_ = 0;       // since the start of the phase
  PassCounts passes_;
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_LEARNER_H_
