#include "rl/learner/learner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/learner/objective.h"
#include "rl/learner/stages.h"

namespace reprise::rl {
namespace {

// Prefixes an error with the step in which it occurred.
template <typename T>
absl::StatusOr<T> InStep(absl::string_view phase, int64_t number, absl::StatusOr<T> result) {
  if (result.ok()) return result;
  return WithContext(result.status(), absl::StrCat(phase, "step ", number));
}

}  // namespace

// ---- The algorithm

absl::Status Learner::Run(int64_t stop_after_step) {
  stop_after_step_ = stop_after_step;
  RETURN_IF_ERROR(RunSteps().status());
  const LearnerDeps& parts = step_context_->parts;
  if (is_over() && parts.config.evaluation.load_best_model_at_end && !evaluation_.best_weights().empty()) {
    SetWeights(evaluation_.best_weights(), &parts.policy());
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Learner::RunSteps() {
  while (phase_ == Phase::kSft && !sft_.IsOver(step_)) {
    const int64_t number = step_ + 1;  // a step counts as done before it is committed
    ASSIGN_OR_RETURN(const bool continues, InStep("SFT ", number, SftStep(number)));
    if (!continues) return false;
  }
  if (phase_ == Phase::kSft) BeginTraining();
  while (step_ < LastStep() && !is_over()) {
    const int64_t number = step_ + 1;
    ASSIGN_OR_RETURN(const bool continues, InStep("", number, TrainStep(number)));
    if (!continues) return false;
  }
  return true;
}

// Supervised learning of the answers.
absl::StatusOr<bool> Learner::SftStep(int64_t number) {
  const SftConfig& sft = step_context_->parts.config.sft;
  const StepShape shape = step_context_->MakeStepShape(Phase::kSft, number, sft.prompts_per_step, /*generations=*/1);
  ASSIGN_OR_RETURN(StepBatch batch, DrawStep(shape, step_context_.get()));
  const AnswerObjective objective(*step_context_, &batch);
  ASSIGN_OR_RETURN(StepUpdates updates, UpdateByAnswers(objective, batch, step_context_.get()));
  sft_.Follow(number, &updates.policy_metrics);
  StepEnd end = CompleteStep(batch, updates, sft.learning_rate, {});
  return CommitStep(step_context_->choices.algorithm, std::move(batch), {}, std::move(updates), std::move(end),
                    step_context_.get());
}

// Group-relative policy optimisation (Shao et al., DeepSeekMath, arXiv 2402.03300, algorithm 1), and the algorithms
// that differ from it by choices of rl/algorithm. One step of the paper's:
//
//    4  for step = 1, ..., M do
//    5    Sample a batch D_b from D
//    6    Update the old policy model pi_old <- pi
//    7    Sample G outputs {o_i} ~ pi_old(. | q) for each question q in D_b
//    8    Compute rewards {r_i} for each sampled output o_i
//    9    Compute A_i,t for the t-th token of o_i through group relative advantage estimation
//   10    for GRPO iteration = 1, ..., mu do
//   11      Update the policy model pi by maximizing the GRPO objective
//
// Line 6 needs no copy: the old policy is the log-probabilities that were recorded while sampling.
absl::StatusOr<bool> Learner::TrainStep(int64_t number) {
  StepContext* const step_context = step_context_.get();
  const RolloutConfig& rollout = step_context->parts.config.rollout;
  const StepPlan plan = PlanStep(*step_context, schedules_, number);
  const StepShape shape =
      step_context->MakeStepShape(Phase::kTraining, number, rollout.prompts_per_step, rollout.num_generations);

  ASSIGN_OR_RETURN(StepBatch batch, DrawStep(shape, step_context));                                          // 5, 7
  ASSIGN_OR_RETURN(const StepScores scores, ScoreStep(plan, step_context, &batch));                          // 8
  ASSIGN_OR_RETURN(const StepAdvantages advantages, ComputeAdvantages(plan, scores, step_context, &batch));  // 9
  ASSIGN_OR_RETURN(Metrics evaluation, evaluation_.BeforeStep(number));
  const PolicyObjective objective(plan, scores, advantages, *step_context, &batch);
  ASSIGN_OR_RETURN(StepUpdates updates,
                   UpdateByMinibatches(plan, advantages, objective, batch, step_context));  // 10, 11
  RETURN_IF_ERROR(AdvanceSchedules(batch, advantages, updates, step_context, &schedules_));
  RETURN_IF_ERROR(evaluation_.AfterStep(number, RewardAverage(schedules_), &evaluation));
  FollowTrends(step_context->parts.config, &schedules_, &evaluation);
  StepEnd end = CompleteStep(batch, updates, plan.learning_rate, std::move(evaluation));
  return CommitStep(plan.algorithm, std::move(batch), advantages, std::move(updates), std::move(end), step_context);
}

// ---- Its parts

Learner::Learner(std::unique_ptr<StepContext> step_context)
    : step_context_(std::move(step_context)), evaluation_(step_context_->parts), sft_(step_context_->parts.config) {}

absl::StatusOr<std::unique_ptr<Learner>> Learner::Create(const LearnerDeps& parts) {
  ASSIGN_OR_RETURN(std::unique_ptr<StepContext> step_context, StepContext::Create(parts));
  return std::unique_ptr<Learner>(new Learner(std::move(step_context)));
}

void Learner::Restore(const LearnerState& state) {
  if (state.phase == Phase::kTraining) BeginTraining();
  step_ = state.step;
  num_tokens_ = state.num_tokens;
  step_context_->updater.Restore(state.optimizer, state.updates);
  SetWeights(state.weights, &step_context_->parts.policy());
  if (step_context_->reference != nullptr && !state.reference.empty())
    SetWeights(state.reference, step_context_->reference.get());
  if (state.phase == Phase::kSft) {
    sft_.Restore(state.schedules);
  } else if (!state.schedules.empty()) {
    schedules_ = FromNumbers(state.schedules, SelectKeptNumbers(step_context_->parts.config));
  }
  evaluation_.Restore(state.best, state.best_weights);
}

void Learner::BeginTraining() {
  phase_ = Phase::kTraining;
  step_ = num_tokens_ = 0;
  schedules_ = InitialSchedules(step_context_->choices.algorithm);
  step_context_->BeginTraining();
}

bool Learner::is_over() const {
  if (phase_ != Phase::kTraining) return false;
  const Config& config = step_context_->parts.config;
  return step_ == config.run.steps || evaluation_.ends_training() ||
         FailuresEndRun(config, static_cast<double>(schedules_.failures_in_a_row));
}

int64_t Learner::LastStep() const {
  const int64_t steps = step_context_->parts.config.run.steps;
  return stop_after_step_ > 0 ? std::min(steps, stop_after_step_) : steps;
}

void Learner::SetWeights(absl::Span<const float> weights, Policy* policy) {
  CHECK_EQ(weights.size(), policy->parameters().size());
  std::copy(weights.begin(), weights.end(), policy->mutable_parameters().begin());
  policy->Refresh(step_context_->parts.pool);
}

StepEnd Learner::CompleteStep(const StepBatch& batch, const StepUpdates& updates, double learning_rate,
                              Metrics evaluation) {
  step_ = batch.shape.number;
  num_tokens_ += batch.counts.tokens;
  passes_ += updates.passes;
  StepEnd end;
  end.learning_rate = learning_rate;
  end.num_tokens = num_tokens_;
  end.evaluation = std::move(evaluation);
  const KeptNumbers kept = SelectKeptNumbers(step_context_->parts.config);
  if (phase_ == Phase::kSft) {
    end.schedules = sft_.numbers();
    end.ends_sft = sft_.IsOver(step_);
  }
  if (phase_ == Phase::kTraining && (HasSchedules(step_context_->choices.algorithm) || kept.any())) {
    end.schedules = ToNumbers(schedules_, kept);
  }
  end.best = evaluation_.best_numbers();
  end.best_weights = evaluation_.best_weights();
  end.is_over = is_over();
  end.ends_early = phase_ == Phase::kTraining && step_ == LastStep() && !end.is_over;
  return end;
}

LearnerCounts Learner::counts() const {
  StepGradient& gradient = step_context_->updater.gradient();
  return {passes_, gradient.activation_bytes(), gradient.helped_pieces(), gradient.exchange_counts()};
}

}  // namespace reprise::rl
