#ifndef RL_ADVANTAGE_EPISODE_LEAVE_ONE_OUT_H_
#define RL_ADVANTAGE_EPISODE_LEAVE_ONE_OUT_H_

// Leave-one-out advantages of whole episodes, in groups of any size: episodes of one prompt share a group id, or the
// whole batch is one group (episodes of different questions then share a baseline, which is no longer the prompt's).
//   b_i = (sum of the group's rewards - R_i) / (n - 1),   A_i = R_i - b_i = n / (n - 1) (R_i - mean),
// then, where `normalize` asks, over the whole batch (A_i - mean A) / (deviation of A + epsilon). Normalised advantages
// are a z-score, and the gradient is no longer unbiased. All turns of an episode share its advantage. Departure: a
// group of equal rewards has advantage exactly 0. Sums run over ascending values: the order of the episodes changes no
// bit.
// For groups of equal size and rewards that may be unscorable see rl/advantage/leave_one_out.h.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace reprise::rl {

struct EpisodeLeaveOneOutOptions {
  bool normalize = false;
  bool allow_lone_episode = false;  // baseline 0 for an episode without others: its raw reward
  double epsilon = 1e-8;            // of `normalize`
};

struct EpisodeAdvantages {
  std::vector<double> baseline_N, advantage_N;
};

// group_N: a group's id by episode, in any order; empty: the whole batch is one group. Rewards must be finite
// (checked). InvalidArgument, naming the group, if one has fewer than two episodes. Pure.
absl::StatusOr<EpisodeAdvantages> EpisodeLeaveOneOut(absl::Span<const double> reward_N,
                                                     absl::Span<const int64_t> group_N,
                                                     const EpisodeLeaveOneOutOptions& options = {});

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_EPISODE_LEAVE_ONE_OUT_H_
