#include "rl/advantage/reinforce_plus_plus.h"

#include <cmath>

#include "core/status/check.h"
#include "rl/advantage/group_relative.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {
namespace {

bool Counts(const ScoredTokens& episode, size_t t) {
  return episode.learned && !std::isnan(episode.score) && (episode.mask_T.empty() || episode.mask_T[t] != 0);
}

// Whitens the values at the tokens for which Counts() is true; 0 elsewhere.
std::vector<std::vector<double>> Whitened(absl::Span<const ScoredTokens> episode_N,
                                          std::vector<std::vector<double>> value_NT) {
  std::vector<double> values;
  for (size_t n = 0; n < value_NT.size(); ++n) {
    for (size_t t = 0; t < value_NT[n].size(); ++t) {
      if (Counts(episode_N[n], t)) values.push_back(value_NT[n][t]);
    }
  }
  const std::vector<double> white = WhitenTokens(values);
  size_t next = 0;
  for (size_t n = 0; n < value_NT.size(); ++n) {
    for (size_t t = 0; t < value_NT[n].size(); ++t) value_NT[n][t] = Counts(episode_N[n], t) ? white[next++] : 0.0;
  }
  return value_NT;
}

}  // namespace

std::vector<std::vector<double>> ReinforcePlusPlusAdvantages(absl::Span<const ScoredTokens> episode_N,
                                                             const ReinforcePlusPlusOptions& options) {
  std::vector<std::vector<double>> return_NT;
  for (const ScoredTokens& episode : episode_N) {
    const std::vector<double> reward_T =
        TokenRewards(episode.num_tokens, episode.score, episode.kl_T, episode.mask_T, options.beta, episode.earned_T);
    return_NT.push_back(DiscountedReturns(reward_T, episode.mask_T, options.gamma));
  }
  return Whitened(episode_N, std::move(return_NT));
}

std::vector<std::vector<double>> ReinforcePlusPlusBaselineAdvantages(absl::Span<const ScoredTokens> episode_N,
                                                                     int64_t num_generations) {
  std::vector<double> rewards_N;
  for (const ScoredTokens& episode : episode_N) rewards_N.push_back(episode.score);
  const std::vector<double> centred_N = GroupRelativeAdvantages(rewards_N, num_generations, ScaleRewards::kNone);
  std::vector<std::vector<double>> value_NT;
  for (size_t n = 0; n < rewards_N.size(); ++n) {
    value_NT.emplace_back(static_cast<size_t>(episode_N[n].num_tokens), centred_N[n]);
  }
  value_NT = Whitened(episode_N, std::move(value_NT));
  for (size_t begin = 0; begin < rewards_N.size(); begin += num_generations) {
    if (!AllScorableEqual(absl::MakeConstSpan(rewards_N).subspan(begin, num_generations))) continue;
    for (size_t n = begin; n < begin + num_generations; ++n) value_NT[n].assign(value_NT[n].size(), 0.0);
  }
  return value_NT;
}

}  // namespace reprise::rl
