#ifndef KERNELS_LM_HEAD_HEAD_DIVERGENCE_H_
#define KERNELS_LM_HEAD_HEAD_DIVERGENCE_H_

// The divergence of the head's whole distribution from that of another model's head, the reference, row by row, in
// chunks of the vocabulary: no [rows, V] logits are stored. LmHeadBackward computes its gradient.
//
// Order contract, l_v and m_v the log-probabilities of both (row_statistics.h) and p_v = exp(l_v), per chunk of
// kVocabularyChunk entries: the sum of p_v (l_v - m_v) in 64 lanes (lane = v mod 64, starting at +0, by fused
// multiply-adds), then the fixed tree; the chunks' sums are added in double, ascending, and rounded. A sum that
// rounding makes negative is replaced with 0.

#include <cstdint>

#include "kernels/contract/operands.h"
#include "kernels/lm_head/row_statistics.h"
#include "kernels/products/packed_matrix.h"

namespace reprise::kernels {

// Hidden states of one model's rows with its head: w_packed = PackForward of W [vocabulary, width]; statistics of
// LmHeadForward, one per row.
struct HeadRows {
  ConstRows hidden;
  PackedMatrix w_packed;
  const RowStatistics* statistics = nullptr;
};

// divergence[r] = sum over v of p_v (log p_v - log q_v), in nats, p of `policy` and q of `reference`, both at the
// temperature of their statistics. Exactly 0 if both have the same bits. NaN if a logit is NaN.
int64_t HeadDivergenceScratch(int64_t rows, int64_t vocabulary);
void HeadDivergence(int64_t vocabulary, const HeadRows& policy, const HeadRows& reference, float temperature,
                    float* divergence, float* scratch);

}  // namespace reprise::kernels

#endif  // KERNELS_LM_HEAD_HEAD_DIVERGENCE_H_
