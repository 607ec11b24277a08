#ifndef RL_POLICY_DECISION_SCORES_H_
#define RL_POLICY_DECISION_SCORES_H_

// What a pass passes to the losses of an episode, and what it counts.

#include <cstdint>

#include "absl/types/span.h"

namespace reprise::rl {

// The scores of an episode's decisions from a forward pass, at the sampling temperature. A token is one decision.
struct DecisionScores {
  absl::Span<const float> logprob_T, entropy_T;
  absl::Span<const float> divergence_T;  // of whole distributions, from the reference's; empty without one
  // By which the floor of the entropy's weight is multiplied where some actions are not allowed; empty: by 1.
  absl::Span<const float> entropy_floor_scale_T = {};
};

// The gradient of a loss with respect to each of them.
struct DecisionGradients {
  absl::Span<float> dlogprob_T, dentropy_T;
  absl::Span<float> ddivergence_T;  // empty without a reference
};

// Counts of passes. Prompt rows are those that the episodes of a group share.
struct PassCounts {
  int64_t prompt_rows = 0, completion_rows = 0, micro_batches = 0, cut_groups = 0;

  PassCounts& operator+=(const PassCounts& other) {
    prompt_rows += other.prompt_rows;
    completion_rows += other.completion_rows;
    micro_batches += other.micro_batches;
    cut_groups += other.cut_groups;
    return *this;
  }
};

}  // namespace reprise::rl

#endif  // RL_POLICY_DECISION_SCORES_H_
