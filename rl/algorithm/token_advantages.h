#ifndef RL_ALGORITHM_TOKEN_ADVANTAGES_H_
#define RL_ALGORITHM_TOKEN_ADVANTAGES_H_

// Computes an advantage for every token from a batch's rewards, for all options of an algorithm: by sample
// (rl/advantage/advantages.h; all tokens of all turns of an episode share its advantage), by whitened tokens
// (rl/advantage/reinforce_plus_plus.h), by step (rl/advantage/step_group.h) or by a value function
// (rl/value/ppo_targets.h).

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "kernels/sums/moments.h"
#include "rl/advantage/advantages.h"

namespace reprise::rl {

// T tokens of one episode.
struct EpisodeTokens {
  int64_t num_tokens = 0;                 // T
  absl::Span<const uint8_t> mask_T = {};  // 0: not sampled by the policy, never read; empty: all count
  absl::Span<const double> kl_T = {};     // TokenDivergences; read where it is subtracted from token rewards
  absl::Span<const double> value_T = {};  // read by kValue
  // Weighted rewards of intermediate turns, not included in the table's rewards (rl/advantage/token_rewards.h); read
  // where tokens have their own returns (HasTokenReturns).
  absl::Span<const double> earned_T = {};
  // For kValue, the value of the state after the last token of a truncated episode; nullopt: the episode is over.
  std::optional<double> bootstrap = std::nullopt;
  // Whether the loss reads any of its tokens. If not, the episode's reward still counts in its group, but its tokens
  // are excluded from whitening and scaling, and its whitened advantages are 0.
  bool learned = true;
  // The turn of each token, ascending; read by ByStep and value_of_turns. Empty: each token is a step.
  absl::Span<const int32_t> turn_T = {};
};

struct TokenAdvantages {
  std::vector<std::vector<double>> advantage_NT;       // 0 at masked tokens
  std::vector<std::vector<double>> return_NT;          // targets of the values; for kValue only, else empty
  kernels::Moments reward_moments, advantage_moments;  // PpoTargets::rewards and advantages; likewise
};

// Returns whether tokens have their own returns, so that the turn of a reward matters: with a value function, with
// whitened tokens without a baseline, and by step.
bool HasTokenReturns(const AdvantageOptions& options);

// episode_N in the order of inputs.table's samples. Options must be valid. Pure.
TokenAdvantages AdvantagesByToken(const AdvantageInputs& inputs, absl::Span<const EpisodeTokens> episode_N,
                                  const AdvantageOptions& options);

}  // namespace reprise::rl

#endif  // RL_ALGORITHM_TOKEN_ADVANTAGES_H_
