#ifndef RL_ALGORITHM_TOKEN_ADVANTAGES_H_
#define RL_ALGORITHM_TOKEN_ADVANTAGES_H_

// From a batch's rewards to an advantage for every token, by the choices of an algorithm, whichever they are: by sample
// (rl/advantage/advantages.h; all tokens of an episode share its advantage, in whichever turn they stand), by whitened
// tokens (rl/advantage/reinforce_plus_plus.h) or by a value function (rl/value/ppo_targets.h).

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "rl/advantage/advantages.h"

namespace reprise::rl {

// T tokens of one episode.
struct EpisodeTokens {
  int64_t num_tokens = 0;                 // T
  absl::Span<const uint8_t> mask_T = {};  // 0: not the policy's (read nowhere); empty: all are
  absl::Span<const double> kl_T = {};     // TokenDivergences; read where a divergence is taken from rewards by token
  absl::Span<const double> value_T = {};  // read by kValue
  // What the episode was given on its way, weighted, and not in the table's rewards (rl/advantage/token_rewards.h);
  // read where tokens have returns of their own (HasTokenReturns).
  absl::Span<const double> earned_T = {};
  // Of kValue, the value of the state after the last token where the episode was cut off there; none: it is over.
  std::optional<double> bootstrap = std::nullopt;
  // Whether its loss reads any token. Where not, the episode's reward still is one of its group, but its tokens are no
  // part of what is whitened or scaled, and whitened advantages of it are 0.
  bool learned = true;
};

struct TokenAdvantages {
  std::vector<std::vector<double>> advantage_NT;  // 0 at masked tokens
  std::vector<std::vector<double>> return_NT;     // what values shall be; of kValue only, else empty
};

// Whether tokens have returns of their own, so that it matters when an episode was given something: those of a value
// function, and whitened ones without a baseline.
bool HasTokenReturns(const AdvantageOptions& options);

// episode_N in the order of inputs.table's samples. Options must be valid. Pure.
TokenAdvantages AdvantagesByToken(const AdvantageInputs& inputs, absl::Span<const EpisodeTokens> episode_N,
                                  const AdvantageOptions& options);

}  // namespace reprise::rl

#endif  // RL_ALGORITHM_TOKEN_ADVANTAGES_H_
