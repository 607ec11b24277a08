#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
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
#include "rl/record/wire.h"
#include "rl/value/value_loss.h"

namespace reprise::rl {
namespace {

struct Options {
  const AlgorithmRow& algorithm;  // of the step
  const RewardColumns& rewards;
};

// Baselines that do not come from the step's own completions.
struct Baselines {
  double running_mean = 0;                // of earlier steps
  std::vector<double> prompt_baseline_P;  // of this rank's prompts (PromptBaselines); empty where not needed
};

// The data of all episodes of a step, gathered on all ranks.
struct Everyone {
  std::vector<double> rewards_NF, divergence_N, prompt_baseline_P;
  std::vector<int64_t> length_N;              // number of learned tokens
  std::vector<std::vector<uint8_t>> mask_NT;  // Decisions::learned_T
  std::vector<uint8_t> terminated_N, invalid_N, dropped_N;
  std::vector<int64_t> turns_N;
  std::vector<std::vector<double>> divergence_NT;  // empty rows unless the divergence is subtracted by token
  std::vector<std::vector<double>> value_NT;       // empty rows without a value function
  std::vector<std::vector<double>> bootstrap_N1;   // one value where a truncated episode bootstraps from it
  std::vector<std::vector<double>> earned_NT;      // weighted; empty rows unless turns have their own rewards
  std::vector<std::vector<int32_t>> turn_NT;       // Decisions::turn_T; empty unless turns are steps
};

std::vector<double> DivergencesOf(const EpisodeRecord& episode, KlEstimator estimator) {
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

std::vector<double> EarnedOf(const Options& options, const EpisodeRecord& episode) {
  if (!options.rewards.by_turn) return {};
  std::vector<double> earned_T = episode.earned_T;
  for (double& earned : earned_T) earned *= options.rewards.weights_F[*options.rewards.by_turn];
  return earned_T;
}

// Returns one value or none, as a list.
std::vector<double> BootstrapOf(const StepScores& scores, size_t episode) {
  if (scores.bootstrap_N.empty() || !scores.bootstrap_N[episode].has_value()) return {};
  return {*scores.bootstrap_N[episode]};
}

absl::StatusOr<Everyone> Gather(Communicator& comm, const Options& options, const Baselines& baselines,
                                const StepScores& scores, const StepBatch& batch) {
  const bool by_token = ByToken(options.algorithm.advantage) && NeedsDivergence(options.algorithm);
  const bool by_turn = StepsAreTurns(options.algorithm.advantage);
  WireWriter mine;
  mine.PutArray(baselines.prompt_baseline_P);
  const KlEstimator estimator = options.algorithm.advantage.reward_kl_estimator;
  const bool with_values = options.algorithm.advantage.baseline == Baseline::kValue;
  for (size_t i = 0; i < batch.episode_N.size(); ++i) {
    const EpisodeRecord& episode = batch.episode_N[i];
    mine.PutArray(with_values ? scores.value_NT[i] : std::vector<double>());
    mine.PutArray(BootstrapOf(scores, i));
    mine.PutArray(ComparedRewards(episode));
    mine.Put<uint8_t>(episode.is_invalid ? 1 : 0);
    mine.Put<uint8_t>(IsDropped(episode) ? 1 : 0);
    mine.Put(episode.decisions.turns);
    const bool has_divergence = NeedsDivergence(options.algorithm) && !IsCut(options, episode.terminated);
    mine.Put(has_divergence ? SequenceDivergence(episode, estimator) : 0.0);
    mine.Put(NumLearned(episode.decisions));
    mine.PutArray(ByToken(options.algorithm.advantage) ? episode.decisions.learned_T : std::vector<uint8_t>());
    mine.Put<uint8_t>(episode.terminated ? 1 : 0);
    mine.PutArray(by_token ? DivergencesOf(episode, estimator) : std::vector<double>());
    mine.PutArray(EarnedOf(options, episode));
    if (by_turn) mine.PutArray(episode.decisions.turn_T);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllgatherBytes(comm, mine.bytes()));
  Everyone everyone;
  for (const std::string& bytes : all) {
    WireReader reader(bytes);
    for (double reward : reader.GetArray<double>()) everyone.prompt_baseline_P.push_back(reward);
    while (!reader.done()) {
      everyone.value_NT.push_back(reader.GetArray<double>());
      everyone.bootstrap_N1.push_back(reader.GetArray<double>());
      for (double reward : reader.GetArray<double>()) everyone.rewards_NF.push_back(reward);
      everyone.invalid_N.push_back(reader.Get<uint8_t>());
      everyone.dropped_N.push_back(reader.Get<uint8_t>());
      everyone.turns_N.push_back(reader.Get<int64_t>());
      everyone.divergence_N.push_back(reader.Get<double>());
      everyone.length_N.push_back(reader.Get<int64_t>());
      everyone.mask_NT.push_back(reader.GetArray<uint8_t>());
      everyone.terminated_N.push_back(reader.Get<uint8_t>());
      everyone.divergence_NT.push_back(reader.GetArray<double>());
      everyone.earned_NT.push_back(reader.GetArray<double>());
      if (by_turn) everyone.turn_NT.push_back(reader.GetArray<int32_t>());
    }
  }
  return everyone;
}

// Returns what the loss counts of each episode. Computed before the advantages, which are whitened over counted tokens
// only.
std::vector<EpisodeSignal> SignalsOf(const Options& options, const Everyone& everyone,
                                     const std::vector<double>& reward_N, int64_t generations) {
  std::vector<double> weight_N(reward_N.size(), 1.0);
  if (options.algorithm.dynamic_sampling) weight_N = DynamicSamplingWeights(reward_N, generations);
  std::vector<EpisodeSignal> signal_N;
  for (size_t n = 0; n < weight_N.size(); ++n) {
    const bool has_baseline = everyone.prompt_baseline_P.empty() ||
                              !std::isnan(everyone.prompt_baseline_P[n / static_cast<size_t>(generations)]);
    if (everyone.dropped_N[n] != 0 || !has_baseline) weight_N[n] = 0;
    const bool masked = IsCut(options, everyone.terminated_N[n] != 0) || weight_N[n] == 0;
    signal_N.push_back({{masked ? 0 : everyone.length_N[n], weight_N[n]},
                        masked,
                        false,
                        everyone.dropped_N[n] != 0,
                        everyone.invalid_N[n] != 0,
                        everyone.turns_N[n]});
  }
  return signal_N;
}

// Returns advantages by episode: one element each, unless tokens have advantages of their own.
TokenAdvantages AdvantagesOf(const Options& options, const AdvantageInputs& inputs, const Everyone& everyone,
                             absl::Span<const EpisodeSignal> signal_N) {
  TokenAdvantages result;
  if (!ByToken(options.algorithm.advantage)) {
    for (double advantage : Advantages(inputs, options.algorithm.advantage)) result.advantage_NT.push_back({advantage});
    return result;
  }
  const bool by_turn = StepsAreTurns(options.algorithm.advantage);
  std::vector<EpisodeTokens> tokens_N;
  for (size_t n = 0; n < everyone.length_N.size(); ++n) {
    const std::vector<uint8_t>& mask_T = everyone.mask_NT[n];
    const int64_t tokens = mask_T.empty() ? everyone.length_N[n] : static_cast<int64_t>(mask_T.size());
    tokens_N.push_back(
        {.num_tokens = tokens,
         .mask_T = mask_T,
         .kl_T = everyone.divergence_NT[n],
         .value_T = everyone.value_NT[n],
         .earned_T = everyone.earned_NT[n],
         .bootstrap = everyone.bootstrap_N1[n].empty() ? std::nullopt : std::optional(everyone.bootstrap_N1[n][0]),
         .learned = !signal_N[n].masked,
         .turn_T = by_turn ? absl::MakeConstSpan(everyone.turn_NT[n]) : absl::Span<const int32_t>()});
  }
  return AdvantagesByToken(inputs, tokens_N, options.algorithm.advantage);
}

// Returns the place of the first value that is finite and yet cannot be computed with, in the episodes that count.
std::optional<std::pair<size_t, double>> FirstOutOfRange(const std::vector<std::vector<double>>& value_NT,
                                                         absl::Span<const EpisodeSignal> signal_N) {
  for (size_t n = 0; n < value_NT.size(); ++n) {
    if (signal_N[n].size.num_tokens == 0) continue;
    for (const double value : value_NT[n]) {
      if (std::isfinite(value) && !IsWithinBounds(value)) return std::pair(n, value);
    }
  }
  return std::nullopt;
}

// Rewards that are sound themselves can be so far apart, or so close to each other, that their advantages are not.
// InvalidArgument then. Values that are out of bounds are a corruption, which is searched where they are used.
absl::Status CheckAdvantages(const Everyone& everyone, const std::vector<std::vector<double>>& advantage_NT,
                             absl::Span<const EpisodeSignal> signal_N, int64_t generations) {
  const auto found = FirstOutOfRange(advantage_NT, signal_N);
  if (!found || FirstOutOfRange(everyone.value_NT, signal_N)) return absl::OkStatus();
  const auto [n, advantage] = *found;
  const bool is_large = std::fabs(advantage) > kLargestMagnitude;
  const int64_t episode = static_cast<int64_t>(n);
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
void SummarizeValues(const Everyone& everyone, const std::vector<std::vector<double>>& return_NT,
                     StepAdvantages* result) {
  std::vector<double> values, returns;
  for (size_t n = 0; n < return_NT.size(); ++n) {
    if (result->signal_N[n].masked) continue;
    for (size_t t = 0; t < return_NT[n].size(); ++t) {
      if (!everyone.mask_NT[n].empty() && everyone.mask_NT[n][t] == 0) continue;
      values.push_back(everyone.value_NT[n][t]);
      returns.push_back(return_NT[n][t]);
    }
  }
  result->values.explained_variance = ExplainedVariance(values, returns);
  const double tokens = std::max(1.0, static_cast<double>(values.size()));
  result->values.mean_value = kernels::TreeSum(values) / tokens;
  result->values.mean_return = kernels::TreeSum(returns) / tokens;
}

absl::StatusOr<Baselines> BaselinesOf(const StepPlan& plan, const StepBatch& batch, StepTools* tools) {
  Baselines baselines;
  baselines.running_mean = plan.running_mean;
  if (!NeedsPromptBaselines(plan.algorithm.advantage)) return baselines;
  const LearnerParts& parts = tools->parts;
  const bool is_optimal = plan.algorithm.advantage.baseline == Baseline::kOptimal;
  const PromptBaselineRequest request = {plan.algorithm, is_optimal ? *tools->reference : parts.policy(),
                                         batch.shape.number};
  ASSIGN_OR_RETURN(baselines.prompt_baseline_P,
                   AgreeOk(parts.comm, parts.workload.PromptBaselines(request, batch.task_P)));
  return baselines;
}

// Keeps of the advantages and returns of all episodes those of this rank, and sets the advantages of its episodes.
void KeepOwn(const Options& options, const Everyone& everyone, TokenAdvantages all, StepAdvantages* result,
             StepBatch* batch) {
  const size_t first = static_cast<size_t>(batch->shape.first_prompt * batch->shape.generations);
  for (size_t i = 0; i < batch->episode_N.size(); ++i) {
    std::vector<double>& advantage_T = all.advantage_NT[first + i];
    EpisodeRecord& episode = batch->episode_N[i];
    if (ByToken(options.algorithm.advantage)) {
      episode.advantage = MeanAdvantage(advantage_T, everyone.mask_NT[first + i]);
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

absl::StatusOr<StepAdvantages> ComputeAdvantages(const StepPlan& plan, const StepScores& scores, StepTools* tools,
                                                 StepBatch* batch) {
  tools->Enter(StepStage::kAdvantages, batch->shape);
  const Options options = {plan.algorithm, tools->parts.workload.rewards()};
  Communicator& comm = tools->parts.comm;
  if (NeedsDivergence(options.algorithm)) RETURN_IF_ERROR(AgreeOk(comm, CheckScores(*batch, scores, *tools)));
  ASSIGN_OR_RETURN(const Baselines baselines, BaselinesOf(plan, *batch, tools));
  ASSIGN_OR_RETURN(const Everyone everyone, Gather(comm, options, baselines, scores, *batch));
  const int64_t generations = batch->shape.generations;
  const RewardTable table = {everyone.rewards_NF, options.rewards.weights_F, generations};
  // Rewards of turns are added at the ends of turns, so the sum at the end of the episode leaves them out.
  std::vector<double> weights_F = options.rewards.weights_F;
  if (options.rewards.by_turn) weights_F[*options.rewards.by_turn] = 0;
  const RewardTable at_the_end = {everyone.rewards_NF, weights_F, generations};
  StepAdvantages result;
  result.reward_N = WeightedRewards(table);
  if (CountScorable(everyone.prompt_baseline_P) > 0) {
    result.mean_prompt_baseline = MeanOfScorable(everyone.prompt_baseline_P);
  }
  result.signal_N = SignalsOf(
      options, everyone, ClippedRewards(result.reward_N, options.algorithm.advantage.reward_clip_range), generations);
  TokenAdvantages advantages = AdvantagesOf(options,
                                            {.table = at_the_end,
                                             .sequence_kl_N = everyone.divergence_N,
                                             .length_N = everyone.length_N,
                                             .prompt_baseline_P = everyone.prompt_baseline_P,
                                             .running_mean = baselines.running_mean},
                                            everyone, result.signal_N);
  RETURN_IF_ERROR(CheckAdvantages(everyone, advantages.advantage_NT, result.signal_N, generations));
  for (size_t n = 0; n < advantages.advantage_NT.size(); ++n) {
    const std::vector<double>& advantage_T = advantages.advantage_NT[n];
    EpisodeSignal& signal = result.signal_N[n];
    signal.has_advantage = signal.size.num_tokens > 0 && std::any_of(advantage_T.begin(), advantage_T.end(),
                                                                     [](double advantage) { return advantage != 0; });
  }
  if (options.algorithm.advantage.baseline == Baseline::kValue)
    SummarizeValues(everyone, advantages.return_NT, &result);
  KeepOwn(options, everyone, std::move(advantages), &result, batch);
  return result;
}

}  // namespace reprise::rl
