#include "rl/learner/learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/decoder/load_balancing.h"
#include "rl/config/extension.h"
#include "rl/learner/reference.h"
#include "rl/learner/step_commit.h"
#include "rl/learner/step_inputs.h"
#include "rl/learner/step_rewards.h"
#include "rl/learner/task_batch.h"
#include "rl/schedule/learning_rate.h"

namespace reprise::rl {
namespace {

// What went wrong, with the step in front of it.
template <typename T>
absl::StatusOr<T> InStep(absl::string_view phase, int64_t number, absl::StatusOr<T> result) {
  if (result.ok()) return result;
  return WithContext(result.status(), absl::StrCat(phase, "step ", number));
}

}  // namespace

// ---- The algorithm

absl::Status Learner::Run(int64_t stop_after_step) {
  stop_after_step_ = stop_after_step;
  while (phase_ == Phase::kWarmUp && step_ < parts_.config.warm_up.steps) {
    const int64_t number = step_ + 1;  // a step counts as done before it is committed
    ASSIGN_OR_RETURN(const bool go_on, InStep("warm-up ", number, WarmUpStep(number)));
    if (!go_on) return absl::OkStatus();
  }
  if (phase_ == Phase::kWarmUp) BeginTraining();
  while (step_ < LastStep()) {
    const int64_t number = step_ + 1;
    ASSIGN_OR_RETURN(const bool go_on, InStep("", number, TrainStep(number)));
    if (!go_on) return absl::OkStatus();
  }
  return absl::OkStatus();
}

// Supervised learning of the answers.
absl::StatusOr<bool> Learner::WarmUpStep(int64_t number) {
  ASSIGN_OR_RETURN(Step step, StartStep(Phase::kWarmUp, number, parts_.config.warm_up.prompts_per_step, 1));
  RETURN_IF_ERROR(CountStep(&step));
  RETURN_IF_ERROR(UpdatePolicy(&step, parts_.config.warm_up.learning_rate, 0));
  return FinishStep(&step);
}

// Group-relative policy optimisation (Shao et al., arXiv 2402.03300, algorithm 1, with one reward per completion), and
// the algorithms that differ from it by choices of rl/algorithm.
absl::StatusOr<bool> Learner::TrainStep(int64_t number) {
  const RolloutConfig& rollout = parts_.config.rollout;
  ASSIGN_OR_RETURN(Step step, StartStep(Phase::kTraining, number, rollout.prompts_per_step, rollout.num_generations));
  RETURN_IF_ERROR(
      AgreeOk(parts_.comm, ScoreEpisodes(parts_.tokenizer, reward_, parts_.config.algorithm.reward, &step)));
  if (reference_ != nullptr) ScoreDivergence(&step);
  RETURN_IF_ERROR(AssignAdvantages(parts_.comm, choices_.advantage, &step));
  RETURN_IF_ERROR(CountStep(&step));
  ScheduleOptions schedule = choices_.schedule;
  schedule.total_steps = EndOfPart(parts_.config.run, number);
  const double learning_rate = LearningRate(schedule, number - 1);
  for (int64_t iteration = 0; iteration < parts_.config.algorithm.num_iterations; ++iteration) {
    RETURN_IF_ERROR(UpdatePolicy(&step, learning_rate, iteration));
  }
  return FinishStep(&step);
}

// ---- Its parts

Learner::Learner(const LearnerParts& parts, const ShardMap& shards, const Choices& choices, RewardFunction reward)
    : parts_(parts),
      shards_(shards),
      choices_(choices),
      reward_(reward),
      auxiliary_coefficient_(parts.model.config().router_aux_loss_coef),
      updater_(parts.model, shards_, choices.adamw,
               {parts.config.execution.micro_batch_tokens, parts.config.execution.activation_checkpointing}, parts.comm,
               parts.pool) {}

absl::StatusOr<std::unique_ptr<Learner>> Learner::Create(const LearnerParts& parts) {
  ASSIGN_OR_RETURN(const ShardMap shards,
                   ShardMap::Create(static_cast<int>(parts.config.run.logical_shards), parts.comm.size()));
  ASSIGN_OR_RETURN(const Choices choices, ChoicesOf(parts.config));
  RewardFunction reward = parts.reward;
  if (reward == nullptr) {
    ASSIGN_OR_RETURN(reward, FindReward(parts.config.algorithm.reward));
  }
  return std::unique_ptr<Learner>(new Learner(parts, shards, choices, reward));
}

void Learner::Restore(const LearnerState& state) {
  if (state.phase == Phase::kTraining) BeginTraining();
  step_ = state.step;
  num_tokens_ = state.num_tokens;
  updater_.Restore(state.first_moments, state.second_moments, state.updates);
  SetWeights(state.weights, &parts_.model);
  if (reference_ != nullptr && !state.reference.empty()) SetWeights(state.reference, reference_.get());
}

void Learner::BeginTraining() {
  updater_.Reset();
  phase_ = Phase::kTraining;
  step_ = num_tokens_ = 0;
  if (NeedsReference(choices_)) reference_ = FrozenCopy(parts_.model, parts_.pool);
}

int64_t Learner::LastStep() const {
  const int64_t steps = parts_.config.run.steps;
  return stop_after_step_ > 0 ? std::min(steps, stop_after_step_) : steps;
}

void Learner::SetWeights(absl::Span<const float> weights, models::Model* model) {
  CHECK_EQ(weights.size(), model->parameters().size());
  std::copy(weights.begin(), weights.end(), model->mutable_parameters().begin());
  model->Refresh(parts_.pool);
}

// This rank's tasks and their episodes.
absl::StatusOr<Step> Learner::StartStep(Phase phase, int64_t number, int64_t prompts, int64_t generations) {
  Step step;
  step.phase = phase;
  step.step = number;
  step.prompts = prompts;
  step.generations = generations;
  const ShardRange range = shards_.ShardsOf(parts_.comm.rank());
  step.first_prompt = FirstPromptOfShard(prompts, shards_.shards(), range.begin);
  const int64_t end = FirstPromptOfShard(prompts, shards_.shards(), range.end);
  absl::StatusOr<std::vector<TaskRecord>> tasks =
      DrawTasks(parts_.config, parts_.problems, parts_.tokenizer, parts_.model.config().max_position_embeddings, phase,
                number, step.first_prompt, end);
  ASSIGN_OR_RETURN(step.share.task_P, AgreeOk(parts_.comm, std::move(tasks)));
  ASSIGN_OR_RETURN(Episodes episodes, AgreeOk(parts_.comm, parts_.source.Draw(phase, number, step.share.task_P)));
  step.share.episode_N = std::move(episodes.episode_N);
  step.expert_count_E = std::move(episodes.expert_count_E);
  step.share.outcome_N.resize(step.share.episode_N.size());
  return step;
}

// Log-probabilities under the reference; under the policy too where the reward needs them and a replay lacks them.
void Learner::ScoreDivergence(Step* step) {
  const std::vector<ShardInput> inputs = InputsOf(*step);
  const float temperature = static_cast<float>(parts_.config.rollout.temperature);
  ScoreByReference(*reference_, inputs, temperature, &updater_.gradient(), step);
  if (choices_.advantage.reward_beta != 0) {
    ScoreByPolicy(parts_.model, inputs, temperature, &updater_.gradient(), step);
  }
}

// Sums over the whole step that every rank needs: tokens, rows and the experts' shares of them. Integers, so that their
// order does not matter.
absl::Status Learner::CountStep(Step* step) {
  // Sampling counts on the way; a replay must arrive at the same record. Answers are counted for their loss alone.
  const bool needed = step->phase == Phase::kTraining || auxiliary_coefficient_ != 0.0;
  if (needed && step->expert_count_E.empty() && !step->share.task_P.empty())
    step->expert_count_E = updater_.gradient().CountExperts(InputsOf(*step));
  step->expert_count_E.resize(static_cast<size_t>(parts_.model.config().num_experts));
  std::vector<int64_t> sums = {0, 0, 0};  // completions' tokens, rows, prompts' and completions' tokens
  for (const EpisodeRecord& episode : step->share.episode_N) {
    const int64_t tokens = static_cast<int64_t>(episode.tokens.size());
    sums[0] += tokens;
    sums[1] += tokens - 1;
    sums[2] += tokens + static_cast<int64_t>(step->TaskOf(episode).tokens.size());
  }
  for (const TaskRecord& task : step->share.task_P) sums[1] += static_cast<int64_t>(task.tokens.size());
  sums.insert(sums.end(), step->expert_count_E.begin(), step->expert_count_E.end());
  RETURN_IF_ERROR(AllreduceSum(parts_.comm, absl::MakeSpan(sums)));
  step->normalizer.num_sequences = static_cast<double>(step->prompts * step->generations);
  step->normalizer.num_tokens = step->normalizer.mean_num_tokens = static_cast<double>(sums[0]);
  step->rows = sums[1];
  num_tokens_ += sums[2];
  step->expert_count_E.assign(sums.begin() + 3, sums.end());
  return absl::OkStatus();
}

std::vector<ShardInput> Learner::InputsOf(const Step& step) const {
  return ShardInputsOf(shards_, parts_.comm.rank(), step);
}

CompletionLoss Learner::LossOf(Step* step, int64_t iteration) const {
  return [this, step, iteration](int64_t group, int64_t completion, absl::Span<const float> logprob_T,
                                 absl::Span<const float> entropy_T, absl::Span<float> dlogprob_T) -> absl::Status {
    const size_t at = step->IndexOf(group, completion);
    EpisodeRecord* const episode = &step->share.episode_N[at];
    ASSIGN_OR_RETURN(step->share.outcome_N[at], step->phase == Phase::kWarmUp
                                                    ? SupervisedLoss(static_cast<int64_t>(step->normalizer.num_tokens),
                                                                     logprob_T, entropy_T, episode, dlogprob_T)
                                                    : ReinforcementLoss(choices_.loss, step->normalizer, iteration == 0,
                                                                        logprob_T, entropy_T, episode, dlogprob_T));
    return absl::OkStatus();
  };
}

absl::Status Learner::UpdatePolicy(Step* step, double learning_rate, int64_t iteration) {
  const models::DecoderConfig& config = parts_.model.config();
  if (!std::isfinite(learning_rate)) {
    return absl::InternalError(absl::StrCat("the learning rate is ", learning_rate));
  }
  // Answers are learned as they are; completions at the temperature that they were sampled with.
  const double temperature = step->phase == Phase::kWarmUp ? 1.0 : parts_.config.rollout.temperature;
  ASSIGN_OR_RETURN(const GradientResult gradient,
                   updater_.gradient().Compute(
                       InputsOf(*step), static_cast<float>(temperature),
                       models::LoadBalancingGradient(config, auxiliary_coefficient_, step->expert_count_E, step->rows),
                       LossOf(step, iteration)));
  // Clipping cannot be the reason as long as the policy is the one that sampled.
  if (iteration == 0 && gradient.norm == 0 && step->any_advantage) {
    return absl::InternalError(
        "the gradient is 0 everywhere although completions have advantages: the model cannot "
        "learn as it is; no weight was changed");
  }
  if (iteration == 0) step->share.first_outcome_N = step->share.outcome_N;
  step->grad_norm = gradient.norm;
  step->learning_rate = learning_rate;
  step->aux_loss =
      models::LoadBalancingLoss(config, step->expert_count_E, gradient.counts.probability_sum_E, step->rows);
  counts_.prompt_rows += gradient.counts.prompt_rows;
  counts_.completion_rows += gradient.counts.completion_rows;
  counts_.micro_batches += gradient.counts.micro_batches;
  counts_.cut_groups += gradient.counts.cut_groups;
  counts_.activation_bytes = updater_.gradient().activation_bytes();
  return updater_.Apply(gradient.norm, learning_rate);
}

absl::StatusOr<bool> Learner::FinishStep(Step* step) {
  StepEnd end = {.metrics = MetricInputsOf(parts_.config, choices_), .reference = reference_.get()};
  end.metrics.num_tokens = num_tokens_;
  end.ends_early = phase_ == Phase::kTraining && step->step == LastStep() && step->step < parts_.config.run.steps;
  step_ = step->step;
  return CommitStep(parts_, end, &updater_, step);
}

}  // namespace reprise::rl
