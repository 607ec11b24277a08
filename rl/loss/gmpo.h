#ifndef RL_LOSS_GMPO_H_
#define RL_LOSS_GMPO_H_

// Geometric-mean policy optimization (Zhao et al., 2025, arXiv 2507.20673), as TRL's GMPOTrainer: the geometric mean of
// a completion's clipped ratios takes the place of the arithmetic mean of its clipped terms. With d_t = logp_t - old_t,
//   c_t = min(d_t, epsilon_high) where A > 0, else max(d_t, -epsilon),    s = exp(mean over tokens of c_t),
// the completion's term is -s A. A token whose clip holds has no gradient of its own. Both epsilons are bounds of the
// logarithm, as theirs. With top_entropy_quantile the mean is over the tokens of highest entropy, as there.
// Departure: the mean is clamped to [-20, 20] before exp.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/loss/options.h"
#include "rl/loss/ratio.h"

namespace reprise::rl {

struct GeometricRatio {
  Ratio ratio = {};
  std::vector<double> slope_T = {};  // of the ratio's logarithm by each token's log-prob
};

// in_mean_T: which tokens the mean is of; without any the ratio is 1. Pure.
GeometricRatio GeometricRatioOf(absl::Span<const double> log_ratio_T, absl::Span<const uint8_t> in_mean_T,
                                double advantage, const LossOptions& options);

// Whether a token's clip holds, from below (A < 0) and from above (A > 0), as TRL counts it.
bool IsLowClippedLog(double log_ratio, double advantage, const LossOptions& options);
bool IsHighClippedLog(double log_ratio, double advantage, const LossOptions& options);

}  // namespace reprise::rl

#endif  // RL_LOSS_GMPO_H_
