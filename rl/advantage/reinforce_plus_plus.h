#ifndef RL_ADVANTAGE_REINFORCE_PLUS_PLUS_H_
#define RL_ADVANTAGE_REINFORCE_PLUS_PLUS_H_

// REINFORCE++ (Hu et al., 2025, arXiv 2501.03262), as implemented in verl:
//   plain      A_it = whitened over the batch's tokens( return_it ),   returns of rl/advantage/token_rewards.h
//   baseline   A_it = whitened over the batch's tokens( R_i - mean of its group ), the same for all tokens of i
// Departures: the advantage is exactly 0 where all returns are equal and, in the baseline variant, for a group of equal
// rewards; see also token_rewards.h.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/advantage/token_rewards.h"

namespace reprise::rl {

struct ReinforcePlusPlusOptions {
  double gamma = 1.0;
  double beta = 0.0;  // weight of the divergence subtracted from the reward
};

// Returns advantages by episode and token, 0 at masked tokens and in an episode that is not learned. Pure.
std::vector<std::vector<double>> ReinforcePlusPlusAdvantages(absl::Span<const ScoredTokens> episode_N,
                                                             const ReinforcePlusPlusOptions& options);

// The variant with a group baseline; the groups of `num_generations` episodes are contiguous. Does not read kl_T
// and earned_T. Pure.
std::vector<std::vector<double>> ReinforcePlusPlusBaselineAdvantages(absl::Span<const ScoredTokens> episode_N,
                                                                     int64_t num_generations);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_REINFORCE_PLUS_PLUS_H_
