#ifndef RL_ADVANTAGE_TOKEN_REWARDS_H_
#define RL_ADVANTAGE_TOKEN_REWARDS_H_

// Rewards by token, for what learns from them (PPO, REINFORCE++): the episode's score at its last token, and at every
// token the divergence from the reference taken away (Ziegler et al., 2019; Ouyang et al., 2022):
//   r_t = -beta kl_t + earned_t + [t last] score,   return_t = r_t + gamma return_{t+1},
// earned_t being what the episode was given on its way, at the last token of a turn; 0 where all is in the score.
// Tokens that are not the policy's have no reward and are skipped, undiscounted. Departure: verl's REINFORCE++ forgets
// at such a token what comes after it.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/loss/options.h"

namespace reprise::rl {

// The estimates of the divergence at each token, of the policy that sampled (rl/loss/divergence.h; k1 is the usual one,
// and the one whose sum is the sequence's); 0 at masked tokens, which are not read. Not for kExact (checked). Pure.
std::vector<double> TokenDivergences(absl::Span<const double> old_logprob_T, absl::Span<const double> ref_logprob_T,
                                     absl::Span<const uint8_t> mask_T, KlEstimator estimator = KlEstimator::kK1);

// kl_T may be empty when beta is 0, earned_T where nothing is; of that, masked tokens are not read. An episode without
// any token that counts loses its score. T tokens. Pure.
std::vector<double> TokenRewards(int64_t T, double score, absl::Span<const double> kl_T,
                                 absl::Span<const uint8_t> mask_T, double beta, absl::Span<const double> earned_T = {});

// 0 at masked tokens. Pure.
std::vector<double> DiscountedReturns(absl::Span<const double> reward_T, absl::Span<const uint8_t> mask_T,
                                      double gamma);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_TOKEN_REWARDS_H_
