#include "rl/value/ppo_targets.h"

#include <cmath>
#include <utility>

#include "rl/advantage/token_rewards.h"
#include "rl/advantage/whiten_tokens.h"

namespace reprise::rl {
namespace {

bool IsPolicys(const ValuedTokens& episode, size_t t) { return episode.mask_T.empty() || episode.mask_T[t] != 0; }

bool Counts(const ValuedTokens& episode, size_t t) { return !std::isnan(episode.score) && IsPolicys(episode, t); }

Gae TargetsOf(const ValuedTokens& episode, const PpoTargetOptions& options) {
  const size_t T = episode.value_T.size();
  if (std::isnan(episode.score)) {
    Gae nothing = {std::vector<double>(T, 0.0), std::vector<double>(T, 0.0)};
    for (size_t t = 0; t < T; ++t) nothing.return_T[t] = IsPolicys(episode, t) ? episode.value_T[t] : 0.0;
    return nothing;
  }
  const std::vector<double> reward_T =
      TokenRewards(static_cast<int64_t>(T), episode.score, episode.kl_T, episode.mask_T, options.kl_coef);
  return GeneralizedAdvantages({.reward_T = reward_T, .value_T = episode.value_T, .mask_T = episode.mask_T},
                               options.gae);
}

void Whiten(absl::Span<const ValuedTokens> episode_N, std::vector<std::vector<double>>* advantage_NT) {
  std::vector<double> values;
  for (size_t n = 0; n < episode_N.size(); ++n) {
    for (size_t t = 0; t < (*advantage_NT)[n].size(); ++t) {
      if (Counts(episode_N[n], t)) values.push_back((*advantage_NT)[n][t]);
    }
  }
  values = WhitenTokens(values);
  size_t next = 0;
  for (size_t n = 0; n < episode_N.size(); ++n) {
    for (size_t t = 0; t < (*advantage_NT)[n].size(); ++t) {
      if (Counts(episode_N[n], t)) (*advantage_NT)[n][t] = values[next++];
    }
  }
}

}  // namespace

PpoTargets MakePpoTargets(absl::Span<const ValuedTokens> episode_N, const PpoTargetOptions& options) {
  PpoTargets targets;
  for (const ValuedTokens& episode : episode_N) {
    Gae gae = TargetsOf(episode, options);
    targets.advantage_NT.push_back(std::move(gae.advantage_T));
    targets.return_NT.push_back(std::move(gae.return_T));
  }
  if (options.whiten_advantages) Whiten(episode_N, &targets.advantage_NT);
  return targets;
}

}  // namespace reprise::rl
