#ifndef RL_LOSS_POLICY_LOSS_H_
#define RL_LOSS_POLICY_LOSS_H_

// The policy loss of one sequence and its gradient. For token t of a sequence with weight w (rl/loss/aggregation.h):
//   loss = sum_t w (c_t policy term_t + beta divergence_t) - entropy_coef sum_t entropy_t / num_tokens
// where the policy term is the clipped surrogate or another Clip (CISPO, SAPO, VESPO, ...), the ratio is the
// token's or the whole sequence's, and c_t is the importance correction, 1 without one. Formulas: TRL's GRPOTrainer and
// RLOOTrainer; each part's file names its source and departures. Departure: with top_entropy_quantile below 1 (Wang et
// al., 2025, arXiv 2506.01939, whose loss is only the policy term of the tokens of highest entropy) the divergence and
// the entropy bonus are still those of all unmasked tokens, as TRL adds the divergence after the mask. A minibatch's
// loss is the sum over its sequences: given the normalizer each is independent of all others, so that the result does
// not depend on micro-batches, shards or ranks.

#include <cstdint>
#include <limits>
#include <vector>

#include "rl/loss/aggregation.h"
#include "rl/loss/options.h"
#include "rl/loss/sequence.h"

namespace reprise::rl {

// Counts and sums for metrics (rl/loss/loss_metrics.h gives them TRL's names).
struct SequenceLossMetrics {
  int64_t num_tokens = 0;
  double policy_loss = 0.0;  // the policy terms' part of the loss
  // Pairs of importance ratio and advantage: one per token, or one for a sequence whose tokens share both.
  int64_t num_ratios = 0;
  int64_t low_clipped = 0;   // of them: clipped from below (A < 0)
  int64_t high_clipped = 0;  // clipped from above (A > 0); CISPO: capped
  int64_t dual_clipped = 0;  // bounded by the dual clip
  double kl_sum = 0.0;       // over tokens, of the divergence as in the loss (before beta)
  double entropy_sum = 0.0;  // over tokens
  // Over tokens, of r - 1 - log r: k3 of KL(old || new), used for early stopping (rl/schedule/minibatches.h).
  double approx_kl_sum = 0.0;
  double vespo_weight_sum = 0.0;  // one per sequence with tokens, or per token where advantage_T is set
  int64_t num_vespo_weights = 0;
  int64_t clamped = 0;             // ratios (and divergences) whose logarithm was outside [-20, 20]
  double max_abs_log_ratio = 0.0;  // before clamping
  // Over tokens, for every loss: of r, and of (log r)^2.
  double ratio_sum = 0.0, squared_log_ratio_sum = 0.0;
  // Over tokens: the squares of r - 1, and the extremes of r; those of no token are the initial ones.
  double squared_ratio_distance_sum = 0.0;
  double least_ratio = std::numeric_limits<double>::infinity(), greatest_ratio = 0.0;
  double implicit_reward = 0.0;  // for kRegression: beta2 sum_t (logp_t - ref_t)
};

struct SequenceLoss {
  double loss = 0.0;
  std::vector<double> dloss_dlogprob_T;   // 0 at masked tokens
  std::vector<double> dloss_dentropy_T;   // empty without an entropy bonus
  std::vector<double> dloss_dexact_kl_T;  // empty unless kl_estimator is kExact
  SequenceLossMetrics metrics;
};

// Options must be valid (ValidateLossOptions). entropy_threshold: TopEntropyThreshold of the minibatch. Pure;
// values at masked tokens are never read, finite inputs give finite outputs. T = 0 is allowed. A weight of 0 makes loss
// and gradient 0; the metrics still include the sequence.
SequenceLoss PolicyLoss(const Sequence& sequence, const LossOptions& options, const LossNormalizer& normalizer,
                        double entropy_threshold = -std::numeric_limits<double>::infinity());

}  // namespace reprise::rl

#endif  // RL_LOSS_POLICY_LOSS_H_
