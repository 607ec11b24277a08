#ifndef KERNELS_LM_HEAD_CATEGORICAL_H_
#define KERNELS_LM_HEAD_CATEGORICAL_H_

// Categorical distributions over actions, one for each row of logits [rows, actions], of which some may be masked. A
// row's bits depend on that row alone.
//
// Order contract: z_v = logit_v / temperature; statistics, log-probabilities and entropies of z as in row_statistics.h,
// divergences as in head_divergence.h, gradients as in lm_head.h. SampleToken (kernels/sampling) draws an action from a
// row of logits after MaskLogits; its log-probability and entropy have the same bits.

#include <cstdint>

#include "kernels/contract/operands.h"
#include "kernels/lm_head/row_statistics.h"

namespace reprise::kernels {

// A logit whose probability is 0 beside any other, and which adds 0 to the entropy and to the divergence.
inline constexpr float kMaskedLogit = -1e30f;

// Replaces the logits of actions that are not allowed, where `allowed` is 0, with kMaskedLogit, even if they are NaN.
// These actions then affect no bit of the others, are never drawn, and have a gradient of 0 (of either sign). A row
// that allows no action is a failed check.
void MaskLogits(const RowView<const uint8_t>& allowed, const Rows& logits);

// Rows after CategoricalForward.
struct CategoricalRows {
  ConstRows z;                                // logits divided by the temperature
  const RowStatistics* statistics = nullptr;  // one per row
};

// Divides the logits by the temperature (> 0) in place, and computes the statistics of each row, which has at least one
// action. The log-probability of action v in row r is then LogProbability(statistics[r], logits[r][v]).
void CategoricalForward(float temperature, const Rows& logits, RowStatistics* statistics);

// divergence[r] = sum over v of p_v (log p_v - log q_v), in nats, p of `policy` and q of `reference`, which have the
// same masks. Exactly 0 if both have the same bits.
void CategoricalDivergence(const CategoricalRows& policy, const CategoricalRows& reference, float* divergence);

// The gradient of the loss with respect to the log-probabilities of the chosen actions, the entropies and the
// divergences, one of each per row.
struct CategoricalGradient {
  const int32_t* action = nullptr;
  const float* dlogprob = nullptr;
  const float* dentropy = nullptr;  // null: none
  CategoricalRows reference = {};
  const float* divergence = nullptr;   // of CategoricalDivergence
  const float* ddivergence = nullptr;  // null: none
};

// Computes dlogits, the gradient of the loss with respect to the logits that CategoricalForward received. dlogits and
// policy.z may be the same array.
void CategoricalBackward(const CategoricalRows& policy, float temperature, const CategoricalGradient& gradient,
                         const Rows& dlogits);

}  // namespace reprise::kernels

#endif  // KERNELS_LM_HEAD_CATEGORICAL_H_
