#include "rl/algorithm/token_advantages.h"

#include <utility>

#include "core/status/check.h"
#include "rl/advantage/leave_one_out.h"
#include "rl/advantage/reinforce_plus_plus.h"
#include "rl/advantage/step_group.h"
#include "rl/value/ppo_targets.h"

namespace reprise::rl {
namespace {

TokenAdvantages Shared(const std::vector<double>& advantage_N, absl::Span<const EpisodeTokens> episode_N) {
  TokenAdvantages result;
  for (size_t n = 0; n < episode_N.size(); ++n) {
    std::vector<double> advantage_T(static_cast<size_t>(episode_N[n].num_tokens), advantage_N[n]);
    for (size_t t = 0; t < episode_N[n].mask_T.size(); ++t) {
      if (episode_N[n].mask_T[t] == 0) advantage_T[t] = 0.0;
    }
    result.advantage_NT.push_back(std::move(advantage_T));
  }
  return result;
}

std::vector<ScoredTokens> MakeScoredTokens(const std::vector<double>& reward_N,
                                           absl::Span<const EpisodeTokens> episode_N) {
  std::vector<ScoredTokens> scored_N;
  for (size_t n = 0; n < episode_N.size(); ++n) {
    const EpisodeTokens& e = episode_N[n];
    scored_N.push_back({e.num_tokens, reward_N[n], e.kl_T, e.mask_T, e.earned_T, e.learned, e.turn_T});
  }
  return scored_N;
}

TokenAdvantages Stepwise(const std::vector<double>& reward_N, int64_t num_generations,
                         absl::Span<const EpisodeTokens> episode_N, const AdvantageOptions& options) {
  const bool leaves_one_out = options.baseline == Baseline::kStepLeaveOneOut;
  return {StepGroupAdvantages(MakeScoredTokens(reward_N, episode_N), num_generations,
                              {.gamma = options.gamma,
                               .beta = options.reward_beta,
                               .leaves_one_out = leaves_one_out,
                               .compares = options.baseline != Baseline::kStepNone,
                               .scale = leaves_one_out ? ScaleRewards::kNone : options.scale_rewards,
                               .normalization = {options.advantage_epsilon, options.ddof}}),
          {},
          {},
          {}};
}

TokenAdvantages Whitened(const std::vector<double>& reward_N, int64_t num_generations,
                         absl::Span<const EpisodeTokens> episode_N, const AdvantageOptions& options) {
  const std::vector<ScoredTokens> scored_N = MakeScoredTokens(reward_N, episode_N);
  if (options.baseline == Baseline::kGroupMean) {
    return {ReinforcePlusPlusBaselineAdvantages(scored_N, num_generations), {}, {}, {}};
  }
  return {ReinforcePlusPlusAdvantages(scored_N, {.gamma = options.gamma, .beta = options.reward_beta}), {}, {}, {}};
}

TokenAdvantages Valued(const std::vector<double>& reward_N, absl::Span<const EpisodeTokens> episode_N,
                       const AdvantageOptions& options, const kernels::Moments& earlier_rewards) {
  std::vector<ValuedTokens> valued_N;
  for (size_t n = 0; n < episode_N.size(); ++n) {
    const EpisodeTokens& e = episode_N[n];
    CHECK_EQ(static_cast<int64_t>(e.value_T.size()), e.num_tokens);
    valued_N.push_back({reward_N[n], e.value_T, e.kl_T, e.mask_T, e.earned_T, e.learned, e.bootstrap,
                        options.value_of_turns ? e.turn_T : absl::Span<const int32_t>()});
  }
  PpoTargetOptions targets_of = {
      {options.gamma, options.lambda}, options.reward_beta, options.whiten_tokens, options.whiten_rewards, {}};
  if (options.scales_by_running_deviation) targets_of.earlier_rewards = earlier_rewards;
  PpoTargets targets = MakePpoTargets(valued_N, targets_of);
  return {std::move(targets.advantage_NT), std::move(targets.return_NT), targets.rewards, targets.advantages};
}

}  // namespace

bool HasTokenReturns(const AdvantageOptions& options) {
  return options.baseline == Baseline::kValue || (options.whiten_tokens && options.baseline == Baseline::kNone) ||
         ByStep(options);
}

TokenAdvantages AdvantagesByToken(const AdvantageInputs& inputs, absl::Span<const EpisodeTokens> episode_N,
                                  const AdvantageOptions& options) {
  CheckRewardTable(inputs.table);
  CHECK_EQ(static_cast<int64_t>(episode_N.size()), inputs.table.num_samples());
  if (!ByToken(options)) return Shared(Advantages(inputs, options), episode_N);
  // The divergence is subtracted token by token, not from the sum.
  const std::vector<double> reward_N =
      PenalizedRewards(WeightedRewards(inputs.table), options.reward_clip_range, /*beta=*/0.0, {});
  if (options.baseline == Baseline::kValue) return Valued(reward_N, episode_N, options, inputs.reward_moments);
  const int64_t generations = inputs.table.num_generations;
  return ByStep(options) ? Stepwise(reward_N, generations, episode_N, options)
                         : Whitened(reward_N, generations, episode_N, options);
}

}  // namespace reprise::rl
