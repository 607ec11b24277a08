#ifndef RL_LEARNER_OBJECTIVE_H_
#define RL_LEARNER_OBJECTIVE_H_

// What a phase's updates minimise.

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "rl/gradient/step_loss.h"
#include "rl/learner/minibatches.h"
#include "rl/learner/step_context.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

struct UpdateLosses {
  EpisodeLoss policy;
  EpisodeValueLoss values = nullptr;  // null: no value function is trained
  const Policy* reference = nullptr;  // null, or the copy whose divergence is passed to `policy`
};

class Objective {
 public:
  virtual ~Objective() = default;
  // Returns the losses of the minibatch's episodes, which set in `outcome_N` what each of this rank's episodes
  // contributes to the metrics. Their errors name the corrupted tensor. Valid as long as the arguments are.
  virtual UpdateLosses MakeLosses(const Minibatch& minibatch, absl::Span<EpisodeOutcome> outcome_N) const = 0;
};

// Reinforcement: the loss of the configuration, and that of its value function. All references must outlive this;
// step_context, plan and advantages are those of the batch.
class PolicyObjective : public Objective {
 public:
  PolicyObjective(const StepPlan& plan, const StepScores& scores, const StepAdvantages& advantages,
                  const StepContext& step_context, StepBatch* batch)
      : plan_(plan), scores_(scores), advantages_(advantages), step_context_(step_context), batch_(*batch) {}

  UpdateLosses MakeLosses(const Minibatch& minibatch, absl::Span<EpisodeOutcome> outcome_N) const override;

 private:
  absl::Status PolicyLoss(const Minibatch& minibatch, size_t at, const DecisionScores& scores,
                          const DecisionGradients& gradients, EpisodeOutcome* outcome) const;
  absl::Status ValueLoss(const Minibatch& minibatch, size_t at, absl::Span<const float> value_T,
                         absl::Span<float> dvalue_T, EpisodeOutcome* outcome) const;

  const StepPlan& plan_;
  const StepScores& scores_;
  const StepAdvantages& advantages_;
  const StepContext& step_context_;
  StepBatch& batch_;
};

// The SFT phase: cross-entropy of the answers.
class AnswerObjective : public Objective {
 public:
  AnswerObjective(const StepContext& step_context, StepBatch* batch) : step_context_(step_context), batch_(*batch) {}

  UpdateLosses MakeLosses(const Minibatch& minibatch, absl::Span<EpisodeOutcome> outcome_N) const override;

 private:
  const StepContext& step_context_;
  StepBatch& batch_;
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_OBJECTIVE_H_
