#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/gather_rows.h"
#include "core/status/status_macros.h"
#include "core/tensor/bounds.h"
#include "kernels/sums/sums.h"
#include "rl/advantage/group_relative.h"
#include "rl/advantage/leave_one_out.h"
#include "rl/advantage/reward_table.h"
#include "rl/advantage/statistics.h"
#include "rl/advantage/token_rewards.h"
#include "rl/algorithm/token_advantages.h"
#include "rl/gradient/step_loss.h"
#include "rl/learner/stages.h"
#include "rl/record/decisions.h"
#include "rl/value/value_loss.h"

namespace reprise::rl {
namespace {

struct Options {
  const AlgorithmConfig& algorithm;  // of the step
  const RewardColumns& rewards;
};

// Baselines that do not come from the step's own completions.
struct Baselines {
  double running_mean = 0;                // of earlier steps
  kernels::Moments token_rewards;         // of earlier steps
  std::vector<double> prompt_baseline_P;  // of this rank's prompts (PromptBaselines); empty where not needed
};

// What the advantages of a step need of an episode.
struct GatheredEpisode {
  std::vector<double> rewards_F = {};  // NaN where it is dropped
  double divergence = 0;               // where it is subtracted from the reward of the episode
  int64_t num_learned = 0;             // tokens
  std::vector<uint8_t> mask_T = {};    // Decisions::learned_T; empty unless tokens have advantages of their own
  bool terminated = false, is_invalid = false, is_dropped = false;
  int64_t turns = 0;
  std::vector<double> divergence_T = {};  // empty unless the divergence is subtracted by token
  std::vector<double> value_T = {};       // empty without a value function
  std::optional<double> bootstrap = {};   // where a truncated episode bootstraps from it
  std::vector<double> earned_T = {};      // weighted; empty unless turns have their own rewards
  std::vector<int32_t> turn_T = {};       // Decisions::turn_T; empty unless turns are steps

  void ForEachMember(auto visit) {
    visit(rewards_F), visit(divergence), visit(num_learned), visit(mask_T);
    visit(terminated), visit(is_invalid), visit(is_dropped), visit(turns);
    visit(divergence_T), visit(value_T), visit(bootstrap), visit(earned_T), visit(turn_T);
  }
};

// The same of all episodes and prompts of the step, on all ranks.
struct GatheredStep {
  std::vector<GatheredEpisode> episode_N;
  std::vector<double> prompt_baseline_P;  // empty where not needed
};

std::vector<double> ComputeDivergences(const EpisodeRecord& episode, KlEstimator estimator) {
  const std::vector<double> old(episode.logprobs.begin(), episode.logprobs.end());
  const std::vector<double> ref(episode.ref_logprobs.begin(), episode.ref_logprobs.end());
  return TokenDivergences(old, ref, episode.decisions.learned_T, estimator);
}

// Returns whether the loss ignores the episode because it was truncated: its divergence is not subtracted from its
// reward either.
bool IsCut(const Options& options, bool terminated) {
  return options.algorithm.mask_truncated_completions && !terminated;
}

// Returns whether the episode is left out of everything: it is invalid, or no function could score it.
bool IsDropped(const EpisodeRecord& episode) { return episode.is_invalid || std::isnan(episode.reward); }

// Returns NaN for a dropped episode, as for an unscorable one, so that baselines and deviations ignore it.
std::vector<double> ComparedRewards(const EpisodeRecord& episode) {
  if (!IsDropped(episode)) return episode.rewards_F;
  return std::vector<double>(episode.rewards_F.size(), std::numeric_limits<double>::quiet_NaN());
}

std::vector<double> EarnedRewards(const Options& options, const EpisodeRecord& episode) {
  if (!options.rewards.by_turn) return {};
  std::vector<double> earned_T = episode.earned_T;
  for (double& earned : earned_T) earned *= options.rewards.weights_F[*options.rewards.by_turn];
  return earned_T;
}

GatheredEpisode WhatIsGathered(const Options& options, const StepScores& scores, const StepBatch& batch, size_t i) {
  const AdvantageOptions& advantage = options.algorithm.advantage;
  const EpisodeRecord& episode = batch.episode_N[i];
  const bool by_token = ByToken(advantage);
  GatheredEpisode row = {.rewards_F = ComparedRewards(episode),
                         .num_learned = NumLearned(episode.decisions),
                         .terminated = episode.terminated,
                         .is_invalid = episode.is_invalid,
                         .is_dropped = IsDropped(episode),
                         .turns = episode.decisions.turns,
                         .earned_T = EarnedRewards(options, episode)};
  if (NeedsDivergence(options.algorithm)) {
    if (!IsCut(options, episode.terminated)) {
      row.divergence = SequenceDivergence(episode, advantage.reward_kl_estimator);
    }
    if (by_token) row.divergence_T = ComputeDivergences(episode, advantage.reward_kl_estimator);
  }
  if (by_token) row.mask_T = episode.decisions.learned_T;
  if (advantage.baseline == Baseline::kValue) row.value_T = scores.value_NT[i];
  if (!scores.bootstrap_N.empty()) row.bootstrap = scores.bootstrap_N[i];
  if (StepsAreTurns(advantage)) row.turn_T = episode.decisions.turn_T;
  return row;
}

absl::StatusOr<GatheredStep> Gather(Communicator& comm, const Options& options, const Baselines& baselines,
                                    const StepScores& scores, const StepBatch& batch) {
  std::vector<GatheredEpisode> mine;
  for (size_t i = 0; i < batch.episode_N.size(); ++i) mine.push_back(WhatIsGathered(options, scores, batch, i));
  GatheredStep step;
  ASSIGN_OR_RETURN(step.episode_N, AllgatherRows(comm, std::move(mine)));
  if (NeedsPromptBaselines(options.algorithm.advantage)) {
    ASSIGN_OR_RETURN(step.prompt_baseline_P, AllgatherRows(comm, baselines.prompt_baseline_P));
  }
  return step;
}

// Returns what the loss counts of each episode. Computed before the advantages, which are whitened over counted tokens
// only.
std::vector<EpisodeLossInfo> MakeLossInfo(const Options& options, const GatheredStep& step,
                                          const std::vector<double>& reward_N, int64_t generations) {
  std::vector<double> weight_N(reward_N.size(), 1.0);
  if (options.algorithm.dynamic_sampling) weight_N = DynamicSamplingWeights(reward_N, generations);
  std::vector<EpisodeLossInfo> loss_info_N;
  for (size_t n = 0; n < weight_N.size(); ++n) {
    const GatheredEpisode& episode = step.episode_N[n];
    const bool has_baseline =
        step.prompt_baseline_P.empty() || !std::isnan(step.prompt_baseline_P[n / static_cast<size_t>(generations)]);
    if (episode.is_dropped || !has_baseline) weight_N[n] = 0;
    const bool masked = IsCut(options, episode.terminated) || weight_N[n] == 0;
    loss_info_N.push_back({.size = {masked ? 0 : episode.num_learned, weight_N[n]},
                           .masked = masked,
                           .is_dropped = episode.is_dropped,
                           .is_invalid = episode.is_invalid,
                           .turns = episode.turns});
  }
  return loss_info_N;
}

// Returns advantages by episode: one element each, unless tokens have advantages of their own.
TokenAdvantages ComputeTokenAdvantages(const Options& options, const AdvantageInputs& inputs, const GatheredStep& step,
                                       absl::Span<const EpisodeLossInfo> loss_info_N) {
  TokenAdvantages result;
  if (!ByToken(options.algorithm.advantage)) {
    for (double advantage : Advantages(inputs, options.algorithm.advantage)) result.advantage_NT.push_back({advantage});
    return result;
  }
  std::vector<EpisodeTokens> tokens_N;
  for (size_t n = 0; n < step.episode_N.size(); ++n) {
    const GatheredEpisode& episode = step.episode_N[n];
    tokens_N.push_back(
        {.num_tokens = episode.mask_T.empty() ? episode.num_learned : static_cast<int64_t>(episode.mask_T.size()),
         .mask_T = episode.mask_T,
         .kl_T = episode.divergence_T,
         .value_T = episode.value_T,
         .earned_T = episode.earned_T,
         .bootstrap = episode.bootstrap,
         .learned = !loss_info_N[n].masked,
         .turn_T = episode.turn_T});
  }
  return AdvantagesByToken(inputs, tokens_N, options.algorithm.advantage);
}

// Returns the first value that is finite and yet cannot be computed with.
std::optional<double> FirstOutOfRange(absl::Span<const double> value_T) {
  const auto found = std::find_if(value_T.begin(), value_T.end(),
                                  [](double value) { return std::isfinite(value) && !IsWithinBounds(value); });
  return found == value_T.end() ? std::nullopt : std::optional<double>(*found);
}

// Rewards that are sound themselves can be so far apart, or so close to each other, that their advantages are not.
// InvalidArgument then. Values that are out of bounds are a corruption, which is searched where they are used.
absl::Status CheckAdvantages(const GatheredStep& step, const std::vector<std::vector<double>>& advantage_NT,
                             absl::Span<const EpisodeLossInfo> loss_info_N, int64_t generations) {
  std::optional<size_t> first;
  for (size_t n = 0; n < loss_info_N.size(); ++n) {
    if (loss_info_N[n].size.num_tokens == 0) continue;  // it does not count
    if (FirstOutOfRange(step.episode_N[n].value_T)) return absl::OkStatus();
    if (!first && FirstOutOfRange(advantage_NT[n])) first = n;
  }
  if (!first) return absl::OkStatus();
  const double advantage = *FirstOutOfRange(advantage_NT[*first]);
  const int64_t episode = static_cast<int64_t>(*first);
  const bool is_large = std::fabs(advantage) > kLargestMagnitude;
  return absl::InvalidArgumentError(
      absl::StrCat("the advantage of prompt ", episode / generations, " sample ", episode % generations, " is ",
                   advantage, is_large ? ", more than the 1e18" : ", less than the 2.3e-308",
                   " that a step can compute with: its rewards are too ",
                   is_large ? "far apart" : "close to each other", "; choose ", is_large ? "smaller" : "larger",
                   " rewards or weights of them (algorithm.reward_weights; of a memory agent the keys of [memory])",
                   is_large ? "" : ", or a larger algorithm.gamma or lam"));
}

// Returns the recorded advantage of an episode whose tokens have their own: their mean over learned tokens; 0 without
// any. (The first token is not always learned.)
double MeanAdvantage(absl::Span<const double> advantage_T, absl::Span<const uint8_t> mask_T) {
  std::vector<double> learned;
  for (size_t t = 0; t < advantage_T.size(); ++t) {
    if (mask_T.empty() || mask_T[t] != 0) learned.push_back(advantage_T[t]);
  }
  return kernels::TreeSum(learned) / std::max(1.0, static_cast<double>(learned.size()));
}

// Computes the metrics of values and returns, over the policy's tokens of the episodes that count.
void SummarizeValues(const GatheredStep& step, const std::vector<std::vector<double>>& return_NT,
                     StepAdvantages* result) {
  std::vector<double> values, returns;
  for (size_t n = 0; n < return_NT.size(); ++n) {
    if (result->loss_info_N[n].masked) continue;
    const GatheredEpisode& episode = step.episode_N[n];
    for (size_t t = 0; t < return_NT[n].size(); ++t) {
      if (!episode.mask_T.empty() && episode.mask_T[t] == 0) continue;
      values.push_back(episode.value_T[t]);
      returns.push_back(return_NT[n][t]);
    }
  }
  result->values.explained_variance = ExplainedVariance(values, returns);
  const double tokens = std::max(1.0, static_cast<double>(values.size()));
  result->values.mean_value = kernels::TreeSum(values) / tokens;
  result->values.mean_return = kernels::TreeSum(returns) / tokens;
}

absl::StatusOr<Baselines> ComputeBaselines(const StepPlan& plan, const StepBatch& batch, StepContext* step_context) {
  Baselines baselines;
  baselines.running_mean = plan.running_mean;
  baselines.token_rewards = plan.token_rewards;
  if (!NeedsPromptBaselines(plan.algorithm.advantage)) return baselines;
  const LearnerDeps& parts = step_context->parts;
  const bool is_optimal = plan.algorithm.advantage.baseline == Baseline::kOptimal;
  const PromptBaselineRequest request = {plan.algorithm, is_optimal ? *step_context->reference : parts.policy(),
                                         batch.shape.number};
  ASSIGN_OR_RETURN(baselines.prompt_baseline_P,
                   AgreeOk(parts.comm, parts.workload.PromptBaselines(request, batch.task_P)));
  return baselines;
}

// Keeps of the advantages and returns of all episodes those of this rank, and sets the advantages of its episodes.
void KeepOwn(const Options& options, const GatheredStep& step, TokenAdvantages all, StepAdvantages* result,
             StepBatch* batch) {
  const size_t first = static_cast<size_t>(batch->shape.first_prompt * batch->shape.generations);
  for (size_t i = 0; i < batch->episode_N.size(); ++i) {
    std::vector<double>& advantage_T = all.advantage_NT[first + i];
    EpisodeRecord& episode = batch->episode_N[i];
    if (ByToken(options.algorithm.advantage)) {
      episode.advantage = MeanAdvantage(advantage_T, step.episode_N[first + i].mask_T);
      episode.advantage_T = std::move(advantage_T);
    } else {
      episode.advantage = advantage_T.at(0);
    }
    if (options.algorithm.advantage.baseline == Baseline::kValue) {
      result->return_NT.push_back(std::move(all.return_NT[first + i]));
    }
  }
}

}  // namespace

absl::StatusOr<StepAdvantages> ComputeAdvantages(const StepPlan& plan, const StepScores& scores,
                                                 StepContext* step_context, StepBatch* batch) {
  step_context->Enter(StepStage::kAdvantages, batch->shape);
  const Options options = {plan.algorithm, step_context->parts.workload.rewards()};
  Communicator& comm = step_context->parts.comm;
  if (NeedsDivergence(options.algorithm)) RETURN_IF_ERROR(AgreeOk(comm, CheckScores(*batch, scores, *step_context)));
  ASSIGN_OR_RETURN(const Baselines baselines, ComputeBaselines(plan, *batch, step_context));
  ASSIGN_OR_RETURN(const GatheredStep step, Gather(comm, options, baselines, scores, *batch));
  const int64_t generations = batch->shape.generations;
  std::vector<double> rewards_NF, divergence_N;
  std::vector<int64_t> num_learned_N;
  for (const GatheredEpisode& episode : step.episode_N) {
    rewards_NF.insert(rewards_NF.end(), episode.rewards_F.begin(), episode.rewards_F.end());
    divergence_N.push_back(episode.divergence);
    num_learned_N.push_back(episode.num_learned);
  }
  // Rewards of turns are added at the ends of turns, so the sum at the end of the episode leaves them out.
  std::vector<double> weights_F = options.rewards.weights_F;
  if (options.rewards.by_turn) weights_F[*options.rewards.by_turn] = 0;
  StepAdvantages result;
  result.reward_N = WeightedRewards({rewards_NF, options.rewards.weights_F, generations});
  if (CountScorable(step.prompt_baseline_P) > 0) {
    result.mean_prompt_baseline = MeanOfScorable(step.prompt_baseline_P);
  }
  result.loss_info_N = MakeLossInfo(
      options, step, ClippedRewards(result.reward_N, options.algorithm.advantage.reward_clip_range), generations);
  TokenAdvantages advantages = ComputeTokenAdvantages(options,
                                                      {.table = {rewards_NF, weights_F, generations},
                                                       .sequence_kl_N = divergence_N,
                                                       .length_N = num_learned_N,
                                                       .prompt_baseline_P = step.prompt_baseline_P,
                                                       .running_mean = baselines.running_mean,
                                                       .reward_moments = baselines.token_rewards},
                                                      step, result.loss_info_N);
  RETURN_IF_ERROR(CheckAdvantages(step, advantages.advantage_NT, result.loss_info_N, generations));
  for (size_t n = 0; n < advantages.advantage_NT.size(); ++n) {
    const std::vector<double>& advantage_T = advantages.advantage_NT[n];
    EpisodeLossInfo& info = result.loss_info_N[n];
    info.has_advantage = info.size.num_tokens > 0 && std::any_of(advantage_T.begin(), advantage_T.end(),
                                                                 [](double advantage) { return advantage != 0; });
  }
  if (options.algorithm.advantage.baseline == Baseline::kValue) SummarizeValues(step, advantages.return_NT, &result);
  result.token_rewards = advantages.reward_moments;
  result.values.advantages = advantages.advantage_moments;
  KeepOwn(options, step, std::move(advantages), &result, batch);
  return result;
}

}  // namespace reprise::rl
