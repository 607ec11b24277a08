#ifndef RL_ADVANTAGE_LEAVE_ONE_OUT_H_
#define RL_ADVANTAGE_LEAVE_ONE_OUT_H_

// Leave-one-out advantages (RLOO; Kool et al., 2019; Ahmadian et al., 2024), with the conventions of TRL:
//   A_i = R_i - (sum of the group's rewards - R_i) / (n - 1),   n: scorable samples of the group,
// then, if `normalize`, the z-score over the batch. Departures: a group whose rewards are all equal
// has advantage exactly 0 (also where a lone scorable sample leaves no baseline).

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rl/advantage/group_relative.h"

namespace reprise::rl {

// Returns each sample's baseline, the mean of the others of its group, (sum - R_i) / (n - 1); the reward itself
// where all are equal, NaN where it is unscorable or no other is scorable. sum: of the scorable rewards, added in the
// order that the caller needs for bitwise equality. Pure.
std::vector<double> LeaveOneOutBaseline(absl::Span<const double> group, double sum);

// rewards_N as in GroupRelativeAdvantages. Pure.
std::vector<double> LeaveOneOutAdvantages(absl::Span<const double> rewards_N, int64_t num_generations, bool normalize,
                                          double epsilon = kAdvantageEpsilon);

// Each reward within the range; NaN stays NaN. Baselines are clipped in the same way.
std::vector<double> ClippedRewards(absl::Span<const double> rewards_N,
                                   const std::optional<std::pair<double, double>>& reward_clip_range);

// RLOO's rewards before the baseline is subtracted: R_i := clip(R_i, low, high) - beta * K_i, where K_i = sum over the
// sequence's tokens of (old log-prob - reference log-prob), the k1 estimate of the divergence, may be negative; 0 for a
// completion that the loss masks as truncated, as in TRL.
// sequence_kl_N may be empty when beta is 0. NaN stays NaN.
std::vector<double> PenalizedRewards(absl::Span<const double> rewards_N,
                                     const std::optional<std::pair<double, double>>& reward_clip_range, double beta,
                                     absl::Span<const double> sequence_kl_N);

// Leave-one-out advantages of a batch of episodes as one group, across prompts: the baseline is then not
// specific to a prompt. b_i is LeaveOneOutBaseline, A_i = R_i - b_i = n / (n - 1) (R_i - mean); then,
// if `normalize`, (A_i - mean A) / (deviation of A + epsilon). Normalised advantages are a z-score, and the
// gradient is no longer unbiased. All turns of an episode share its advantage. Departure: a batch of equal rewards has
// advantage exactly 0. Sums run over ascending values: the order of the episodes changes no bit.
struct EpisodeLeaveOneOutOptions {
  bool normalize = false;
  double epsilon = 1e-8;  // used with `normalize`
};

struct EpisodeAdvantages {
  std::vector<double> baseline_N, advantage_N;
};

// Rewards must be finite (checked). InvalidArgument if there are fewer than two. Pure.
absl::StatusOr<EpisodeAdvantages> EpisodeLeaveOneOut(absl::Span<const double> reward_N,
                                                     const EpisodeLeaveOneOutOptions& options = {});

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_LEAVE_ONE_OUT_H_
