#ifndef RL_VALUE_PPO_TARGETS_H_
#define RL_VALUE_PPO_TARGETS_H_

// PPO's targets for a batch (Schulman et al., 2017; the recipe of TRL's PPOTrainer): token rewards less the divergence
// (rl/advantage/token_rewards.h), their generalized advantages and returns, and the advantages whitened over the tokens
// of the batch. The returns are computed before whitening. Departure: an episode truncated by a limit is bootstrapped
// from the value of the state where it was truncated (Pardo et al., 2018, arXiv 1712.00378; as Stable Baselines3); TRL
// and verl use 0 there, as does this function without a bootstrap.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "kernels/sums/moments.h"

namespace reprise::rl {

// Generalized advantage estimation (Schulman et al., 2016, arXiv 1506.02438, equation 16), from the last step
// backwards:
//   delta_t = r_t + gamma V_{t+1} - V_t,   A_t = delta_t + gamma lambda A_{t+1},   return_t = A_t + V_t.
// lambda 0 gives the temporal-difference error, lambda 1 the discounted return minus the value. Masked steps (an
// environment's tokens) are skipped: the value and the advantage of the next unmasked step are carried over them
// undiscounted, as in verl.
struct GaeOptions {
  double gamma = 1.0;
  double lambda = 0.95;  // TRL's lam
};

// How a step ends. After kTerminated, V_{t+1} = 0. After kTruncated, V_{t+1} is the bootstrap value. In both cases no
// advantage is carried over the end.
enum class StepEnd : uint8_t { kContinues, kTerminated, kTruncated };

// T steps, of one episode or of several consecutive ones.
struct Trajectory {
  absl::Span<const double> reward_T = {};
  absl::Span<const double> value_T = {};  // of the state before the step, at sampling time
  absl::Span<const uint8_t> mask_T = {};  // 0: masked, never read; empty: all count
  absl::Span<const StepEnd> end_T = {};   // empty: all are kContinues, and V is 0 after the last
  // Value of the state after a truncated step; read only at truncated steps, may be empty without any.
  absl::Span<const double> bootstrap_T = {};
};

struct Gae {
  std::vector<double> advantage_T, return_T;  // 0 at masked steps
};

// Pure; finite inputs give finite outputs. T = 0 is allowed.
Gae GeneralizedAdvantages(const Trajectory& trajectory, const GaeOptions& options);

// T tokens of one episode.
struct ValuedTokens {
  double score = 0.0;  // NaN: unscorable; advantages 0, returns equal to the values
  absl::Span<const double> value_T = {};
  absl::Span<const double> kl_T = {};      // may be empty when kl_coef is 0
  absl::Span<const uint8_t> mask_T = {};   // 0: not learned; empty: all are
  absl::Span<const double> earned_T = {};  // rl/advantage/token_rewards.h
  bool learned = true;                     // false: excluded from whitening and scaling; its whitened advantages are 0
  // Value of the state after the last token of a truncated episode; nullopt: the episode is over.
  std::optional<double> bootstrap = std::nullopt;
  // The turn of each token, ascending, where a step is a turn: its value is that of its first unmasked token, its
  // reward the sum of its tokens', and all of its unmasked tokens share its advantage and its return. A turn without
  // unmasked tokens has no value: it counts as r + gamma V of the next turn, so that time passes and the reward is
  // discounted, with a temporal-difference error of 0. Empty: a token is a step.
  absl::Span<const int32_t> turn_T = {};
};

struct PpoTargetOptions {
  GaeOptions gae = {};
  double kl_coef = 0.05;
  bool whiten_advantages = true;
  bool whiten_rewards = false;  // divide by their deviation over the batch, keeping their mean (TRL's whiten_rewards)
  // Those of the token rewards of earlier batches. Where they are set, token rewards are divided by their standard
  // deviation over these and the batch's own, and clipped to [-10, 10] (reward normalisation of PPO implementations,
  // as Stable-Baselines3's VecNormalize, here of rewards and not of returns). Rewards that are all equal stay as they
  // are. Comes before whiten_rewards.
  std::optional<kernels::Moments> earlier_rewards = std::nullopt;
};

struct PpoTargets {
  std::vector<std::vector<double>> advantage_NT, return_NT;  // 0 at masked tokens
  kernels::Moments rewards;     // of earlier_rewards and the batch's token rewards, before scaling; else empty
  kernels::Moments advantages;  // over the tokens that count, before whitening
};

// Pure.
PpoTargets MakePpoTargets(absl::Span<const ValuedTokens> episode_N, const PpoTargetOptions& options);

}  // namespace reprise::rl

#endif  // RL_VALUE_PPO_TARGETS_H_
