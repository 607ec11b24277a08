#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/comm/gather_rows.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "rl/advantage/leave_one_out.h"
#include "rl/config/extension.h"
#include "rl/config/workload_traits.h"
#include "rl/gradient/step_loss.h"
#include "rl/learner/stages.h"
#include "rl/schedule/learning_rate.h"

namespace reprise::rl {
namespace {

// Returns the next state of the divergence's weight. It follows the mean, over the tokens that count, of k1 between the
// policy that sampled and the reference.
absl::StatusOr<KlState> NextKl(const StepBatch& batch, const std::vector<EpisodeLossInfo>& loss_info_N,
                               const StepContext& step_context, const KlState& state) {
  std::vector<double> mine;
  for (const EpisodeRecord& episode : batch.episode_N) {
    if (!loss_info_N[batch.shape.PlaceOf(episode)].masked) mine.push_back(SequenceDivergence(episode));
  }
  ASSIGN_OR_RETURN(const std::vector<double> divergence_N, AllgatherRows(step_context.parts.comm, std::move(mine)));
  int64_t tokens = 0, samples = 0;
  for (const EpisodeLossInfo& signal : loss_info_N) {
    samples += signal.masked ? 0 : 1;
    tokens += signal.size.num_tokens;
  }
  std::optional<double> kl;
  if (tokens > 0) kl = kernels::TreeSum(divergence_N) / static_cast<double>(tokens);
  KlOptions options = step_context.choices.algorithm.kl;
  options.total_updates = EndOfPart(step_context.parts.config.run, batch.shape.number);
  return NextKlState(state, options, kl, samples);
}

// Of an episode, over its tokens that count.
struct EntropySum {
  double entropy, tokens;
};

// Returns the step's metric `entropy`, to which the weight of the entropy bonus adapts; nullopt where no token counts.
absl::StatusOr<std::optional<double>> ComputeMeanEntropy(Communicator& comm,
                                                         const std::vector<EpisodeOutcome>& outcome_N) {
  std::vector<EntropySum> mine;
  for (const EpisodeOutcome& outcome : outcome_N) {
    mine.push_back({outcome.metrics.entropy_sum, static_cast<double>(outcome.metrics.num_tokens)});
  }
  ASSIGN_OR_RETURN(const std::vector<EntropySum> sum_N, AllgatherRows(comm, std::move(mine)));
  std::vector<double> entropy_N, tokens_N;
  for (const EntropySum& sum : sum_N) {
    entropy_N.push_back(sum.entropy);
    tokens_N.push_back(sum.tokens);
  }
  const double tokens = kernels::TreeSum(tokens_N);
  if (tokens == 0.0) return std::nullopt;
  return kernels::TreeSum(entropy_N) / tokens;
}

// Shows the step's episodes to a policy that keeps statistics of them.
absl::Status ShowEpisodes(const StepBatch& batch, StepContext* step_context) {
  Policy& policy = step_context->parts.policy();
  if (!policy.observes()) return absl::OkStatus();
  std::vector<std::vector<double>> mine;
  for (const EpisodeRecord& episode : batch.episode_N) mine.push_back(policy.Observe(episode));
  ASSIGN_OR_RETURN(const std::vector<std::vector<double>> of_episode_N,
                   AllgatherRows(step_context->parts.comm, std::move(mine)));
  policy.TakeObservations(of_episode_N, step_context->parts.pool);
  return absl::OkStatus();
}

// Returns the mean of the step's rewards; nullopt where no function could score any episode. A step in which episodes
// were dropped as invalid, and no other has a reward, was scored: it counts as 0.
std::optional<double> MeanReward(const StepAdvantages& advantages) {
  const double mean = MeanOfScorable(advantages.reward_N);
  if (!std::isnan(mean)) return mean;
  const std::vector<EpisodeLossInfo>& loss_info_N = advantages.loss_info_N;
  const bool any_invalid =
      std::any_of(loss_info_N.begin(), loss_info_N.end(), [](const auto& s) { return s.is_invalid; });
  return any_invalid ? std::optional<double>(0.0) : std::nullopt;
}

}  // namespace

ScheduleState InitialSchedules(const AlgorithmConfig& algorithm) {
  return {.kl = InitialKlState(algorithm.kl),
          .reward_mean = {},
          .entropy = InitialEntropyState(algorithm.entropy),
          .token_rewards = {}};
}

StepPlan PlanStep(const StepContext& step_context, const ScheduleState& schedules, int64_t number) {
  StepPlan plan = {.algorithm = step_context.choices.algorithm,
                   .running_mean = schedules.reward_mean.baseline(),
                   .token_rewards = schedules.token_rewards};
  AlgorithmConfig& algorithm = plan.algorithm;
  if (algorithm.kl.schedule != KlSchedule::kFixed) SetBeta(schedules.kl.coefficient, &algorithm);
  algorithm.loss.entropy_coef = EntropyCoefficient(algorithm.entropy, schedules.entropy, number - 1);
  ScheduleOptions rate = step_context.choices.schedule;
  rate.total_steps = EndOfPart(step_context.parts.config.run, number);
  plan.learning_rate = LearningRate(rate, number - 1);
  return plan;
}

absl::Status AdvanceSchedules(const StepBatch& batch, const StepAdvantages& advantages, const StepUpdates& updates,
                              StepContext* step_context, ScheduleState* schedules) {
  step_context->Enter(StepStage::kSchedules, batch.shape);
  const AlgorithmConfig& algorithm = step_context->choices.algorithm;
  if (algorithm.kl.schedule != KlSchedule::kFixed) {
    ASSIGN_OR_RETURN(schedules->kl, NextKl(batch, advantages.loss_info_N, *step_context, schedules->kl));
  }
  if (algorithm.entropy.adaptive) {
    ASSIGN_OR_RETURN(const std::optional<double> entropy,
                     ComputeMeanEntropy(step_context->parts.comm, updates.outcome_N));
    schedules->entropy = NextEntropyState(schedules->entropy, algorithm.entropy, entropy);
  }
  // The running mean is of clipped rewards, which are what it is compared with.
  schedules->reward_mean =
      Next(schedules->reward_mean, ClippedRewards(advantages.reward_N, algorithm.advantage.reward_clip_range),
           algorithm.baseline_decay);
  schedules->token_rewards = advantages.token_rewards;
  RETURN_IF_ERROR(ShowEpisodes(batch, step_context));
  const Config& config = step_context->parts.config;
  if (AveragesRewards(config)) {
    std::vector<std::optional<double>>& recent = schedules->recent_rewards;
    recent.push_back(MeanReward(advantages));
    const size_t window = static_cast<size_t>(config.evaluation.reward_window);
    if (recent.size() > window) recent.erase(recent.begin(), recent.end() - static_cast<std::ptrdiff_t>(window));
  }
  const int64_t every = algorithm.reference.sync ? algorithm.reference.sync_steps : 0;
  if (step_context->reference != nullptr && every > 0 && batch.shape.number % every == 0) {
    step_context->reference->MoveTowards(step_context->parts.policy(), algorithm.reference.mixup_alpha,
                                         step_context->parts.pool);
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
