#ifndef RL_REWARD_THOUGHT_REWARD_H_
#define RL_REWARD_THOUGHT_REWARD_H_

// Rewards of thoughts by how much they help the text that follows (Quiet-STaR; Zelikman et al., 2024, arXiv 2403.09629,
// section 4.4.3). The thoughts that samples 1..K have at one position of a text compete with each other:
//   non-myopic   R_k = Q_k - mean over the K thoughts of Q,   Q_k = log p of the next n tokens of the text, given
//                thought k
//   graded       R_k = Q_k - Q_base,   Q_base: the same without a thought
//   binary       R_k = 1 where more of those tokens are the most probable ones with the thought than without, else 0
// `clamp` replaces negative rewards by 0, as the paper's code does.
// Departure: fewer than n tokens may follow near the end of a text; then Q sums over those.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace reprise::rl {

// In the order of the names of quiet_star.reward.
enum class ThoughtReward { kNonMyopic, kGraded, kBinary };

// What a thought made of the tokens that follow it: sums over them.
struct Foresight {
  double logprob = 0;  // Q
  int64_t hits = 0;    // tokens that were the most probable ones
};

// Returns the rewards of the K thoughts at one position. base: without a thought. Finite inputs give finite rewards;
// where all thoughts have equal Q, the non-myopic reward is exactly 0. Sums in the fixed tree of kernels/sums. Pure.
std::vector<double> ThoughtRewards(ThoughtReward kind, bool clamp, const Foresight& base,
                                   absl::Span<const Foresight> thought_K);

}  // namespace reprise::rl

#endif  // RL_REWARD_THOUGHT_REWARD_H_
