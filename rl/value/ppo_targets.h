#ifndef RL_VALUE_PPO_TARGETS_H_
#define RL_VALUE_PPO_TARGETS_H_

// What PPO learns a batch from (Schulman et al., 2017; the recipe of TRL's PPOTrainer): token rewards with the
// divergence taken away (rl/advantage/token_rewards.h), generalized advantages and returns of them, and the advantages
// whitened over the tokens of the batch. The returns are made before the whitening. Departure: an episode that was cut
// off by a limit goes on from the value of the state that it was cut off at (Pardo et al., 2018, arXiv 1712.00378; as
// Stable Baselines3); TRL and verl let it end there with nothing. Without a bootstrap it does here too.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "rl/value/gae.h"

namespace reprise::rl {

// T tokens of one episode.
struct ValuedTokens {
  double score = 0.0;  // NaN: unscorable; advantages 0, returns equal to the values, so that nothing is learned
  absl::Span<const double> value_T = {};
  absl::Span<const double> kl_T = {};      // may be empty when kl_coef is 0
  absl::Span<const uint8_t> mask_T = {};   // 0: not the policy's; empty: all are
  absl::Span<const double> earned_T = {};  // rl/advantage/token_rewards.h
  bool learned = true;  // false: no part of what is whitened or scaled; a whitened advantage of it is 0
  // Value of the state after the last token, where the episode was cut off there (truncated); none: it is over.
  std::optional<double> bootstrap = std::nullopt;
};

struct PpoTargetOptions {
  GaeOptions gae = {};
  double kl_coef = 0.05;
  bool whiten_advantages = true;
  bool whiten_rewards = false;  // divided by their deviation over the batch, their mean kept (TRL's whiten_rewards)
};

struct PpoTargets {
  std::vector<std::vector<double>> advantage_NT, return_NT;  // 0 at masked tokens
};

// Pure.
PpoTargets MakePpoTargets(absl::Span<const ValuedTokens> episode_N, const PpoTargetOptions& options);

}  // namespace reprise::rl

#endif  // RL_VALUE_PPO_TARGETS_H_
