#ifndef KERNELS_ATTENTION_ATTENTION_ENTROPY_H_
#define KERNELS_ATTENTION_ATTENTION_ENTROPY_H_

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// Entropies (nats) of the probabilities with which each query of one head attends to the keys up to its own: query s to
// keys 0 .. s. entropy_S: one per row of q, >= 0.
//
// Order contract, in double: score_j = chain of multiplications and additions over head width of q_d k_jd, times scale;
// m = max; e_j = exp(score_j - m); sum = chain over ascending j of e_j, weighted = chain over ascending j of
// e_j (score_j - m); entropy = max(ln sum - weighted / sum, 0).
void AttentionEntropies(const ConstRows& q, const ConstRows& k, double scale, double* entropy_S);

}  // namespace reprise::kernels

#endif  // KERNELS_ATTENTION_ATTENTION_ENTROPY_H_
