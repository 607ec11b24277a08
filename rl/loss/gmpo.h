#ifndef RL_LOSS_GMPO_H_
#define RL_LOSS_GMPO_H_

// Geometric-mean policy optimization (Zhao et al., 2025, arXiv 2507.20673), as TRL's GMPOTrainer: it replaces the
// arithmetic mean of a completion's clipped terms by the geometric mean of its clipped ratios. With d_t = logp_t -
// old_t,
//   c_t = min(d_t, epsilon_high) where A > 0, else max(d_t, -epsilon),    s = exp(mean over tokens of c_t),
// the completion's term is -s A. A clipped token contributes no gradient. Both epsilons bound the logarithm, as in
// GMPOTrainer. With top_entropy_quantile the mean is over the tokens of highest entropy, also as there. Departure: the
// mean is clamped to [-20, 20] before exp.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/loss/options.h"
#include "rl/loss/ratio.h"

namespace reprise::rl {

struct GeometricRatio {
  Ratio ratio = {};
  std::vector<double> slope_T = {};  // d log ratio / d log-prob of each token
};

// in_mean_T: the tokens of the mean; without any the ratio is 1. Pure.
GeometricRatio ComputeGeometricRatio(absl::Span<const double> log_ratio_T, absl::Span<const uint8_t> in_mean_T,
                                     double advantage, const LossOptions& options);

// Return whether a token is clipped from below (A < 0) and from above (A > 0), as TRL counts it.
bool IsLowClippedLog(double log_ratio, double advantage, const LossOptions& options);
bool IsHighClippedLog(double log_ratio, double advantage, const LossOptions& options);

}  // namespace reprise::rl

#endif  // RL_LOSS_GMPO_H_
