#ifndef RL_ADVANTAGE_TOKEN_REWARDS_H_
#define RL_ADVANTAGE_TOKEN_REWARDS_H_

// Rewards by token, for algorithms that use them (PPO, REINFORCE++): the episode's score at its last token, less the
// divergence from the reference at every token (Ziegler et al., 2019; Ouyang et al., 2022):
//   r_t = -beta kl_t + earned_t + [t last] score,   return_t = r_t + gamma return_{t+1},
// where earned_t is the reward of an intermediate turn, at the turn's last token; 0 where the score is the only reward.
// Masked tokens, which are not learned, are skipped, undiscounted: what was earned at one, in a turn of which no token
// is learned, is added to the reward of the last token before it that is, and left out where there is none. Departure:
// verl's REINFORCE++ drops at such a token the return of the tokens after it.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/loss/options.h"

namespace reprise::rl {

// T tokens of one episode, and what they are rewarded for.
struct ScoredTokens {
  int64_t num_tokens = 0;                  // T
  double score = 0.0;                      // NaN: unscorable, excluded from all statistics, advantage 0
  absl::Span<const double> kl_T = {};      // TokenDivergences; may be empty when beta is 0
  absl::Span<const uint8_t> mask_T = {};   // 0: not learned; empty: all are
  absl::Span<const double> earned_T = {};  // may be empty: nothing was earned
  // Whether the loss reads any of its tokens. If not, its rewards count in its group, but its tokens in no whitening.
  bool learned = true;
  absl::Span<const int32_t> turn_T = {};  // ascending; read where turns are compared (rl/advantage/step_group.h)
};

// Returns the estimate of the sampling policy's divergence at each token (rl/loss/terms.h; k1 is the usual one,
// and the one whose sum is the sequence's); 0 at masked tokens, which are not read. Not for kExact (checked). Pure.
std::vector<double> TokenDivergences(absl::Span<const double> old_logprob_T, absl::Span<const double> ref_logprob_T,
                                     absl::Span<const uint8_t> mask_T, KlEstimator estimator = KlEstimator::kK1);

// kl_T may be empty when beta is 0, earned_T when nothing was earned; kl_T is not read at masked tokens. The score of
// an episode without any unmasked token is dropped. T tokens; 0 at masked ones. Pure.
std::vector<double> TokenRewards(int64_t T, double score, absl::Span<const double> kl_T,
                                 absl::Span<const uint8_t> mask_T, double beta, absl::Span<const double> earned_T = {});

// Returns mask_T, with the last token of each turn in which it is 0 everywhere unmasked: it stands for its turn where
// turns are steps, which they are whether their tokens are learned or not. Empty if mask_T is. Pure.
std::vector<uint8_t> MaskWithAllTurns(absl::Span<const uint8_t> mask_T, absl::Span<const int32_t> turn_T);

// 0 at masked tokens. Pure.
std::vector<double> DiscountedReturns(absl::Span<const double> reward_T, absl::Span<const uint8_t> mask_T,
                                      double gamma);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_TOKEN_REWARDS_H_
