#ifndef RL_VALUE_GAE_H_
#define RL_VALUE_GAE_H_

// Generalized advantage estimation (Schulman et al., 2016, arXiv 1506.02438, equation 16), from the last step back:
//   delta_t = r_t + gamma V_{t+1} - V_t,   A_t = delta_t + gamma lambda A_{t+1},   return_t = A_t + V_t.
// lambda 0 is the error of temporal differences, lambda 1 the discounted return minus the value. Steps that are not the
// policy's (an environment's tokens) are skipped: the value and the advantage of the next step that counts are carried
// over them undiscounted, as in verl.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace reprise::rl {

struct GaeOptions {
  double gamma = 1.0;
  double lambda = 0.95;  // TRL's lam
};

// How a step ends. After kTerminated nothing follows: V_{t+1} = 0. After kTruncated something would have: V_{t+1} is
// the bootstrap value. Either way no advantage is carried over the end.
enum class StepEnd : uint8_t { kContinues, kTerminated, kTruncated };

// T steps, of one episode or of several one after another.
struct Trajectory {
  absl::Span<const double> reward_T = {};
  absl::Span<const double> value_T = {};  // of the state before the step, under the values that sampled
  absl::Span<const uint8_t> mask_T = {};  // 0: not the policy's step (read nowhere); empty: all count
  absl::Span<const StepEnd> end_T = {};   // empty: every step continues, and nothing follows the last
  // Value of the state that a truncated step led to; read at truncated steps only, may be empty without any.
  absl::Span<const double> bootstrap_T = {};
};

struct Gae {
  std::vector<double> advantage_T, return_T;  // 0 at steps that do not count
};

// Pure; finite inputs give finite outputs. T = 0 is allowed.
Gae GeneralizedAdvantages(const Trajectory& trajectory, const GaeOptions& options);

}  // namespace reprise::rl

#endif  // RL_VALUE_GAE_H_
