#ifndef RL_ADVANTAGE_STEP_GROUP_H_
#define RL_ADVANTAGE_STEP_GROUP_H_

// Advantages step by step, for episodes of any lengths: each step of an episode is compared with the same step of the
// other episodes of its prompt that have it (step-wise GRPO of memory agents). With r_k the reward of step k,
//   R_t = sum_{k >= t} gamma^(k - t) r_k,   A_it = (R_it - mean_{j has t} R_jt) / (deviation of the same R_jt +
//   epsilon),
// undivided unless the scale is kGroup; leave-one-out: A_it = R_it - mean_{j has t, j != i} R_jt; compared with
// nothing: A_it = R_it. gamma 0 compares the steps' own rewards.
//
// A step is a turn of the episode, whether any of its tokens is learned or not: one of which none is has a reward and
// is compared with, but nothing is learned from its advantage. Where an episode has no turns, a step is a position, and
// masked ones are skipped, undiscounted (rl/advantage/token_rewards.h). A step's reward is that of its tokens; the
// score is added at the last step. Where steps are compared, a step that a single episode of the prompt has has nothing
// to be compared with: its advantage is 0. So is that of a step in which all R are equal.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/advantage/group_relative.h"
#include "rl/advantage/token_rewards.h"

namespace reprise::rl {

struct StepGroupOptions {
  double gamma = 0.0;
  double beta = 0.0;                         // weight of the divergence subtracted from the reward
  bool leaves_one_out = false;               // the mean of the other episodes, undivided
  bool compares = true;                      // false: no mean is subtracted, and nothing divides
  ScaleRewards scale = ScaleRewards::kNone;  // kNone or kGroup (checked)
  Normalization normalization = {};          // lone_sample_keeps_reward is not meant for it and ignored
};

// Returns advantages by episode and token: tokens of a step share theirs; 0 at masked tokens and for an unscorable
// episode, which no other is compared with. The groups of `num_generations` episodes are contiguous. Pure; groups are
// independent.
std::vector<std::vector<double>> StepGroupAdvantages(absl::Span<const ScoredTokens> episode_N, int64_t num_generations,
                                                     const StepGroupOptions& options);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_STEP_GROUP_H_
