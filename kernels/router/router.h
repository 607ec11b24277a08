#ifndef KERNELS_ROUTER_ROUTER_H_
#define KERNELS_ROUTER_ROUTER_H_

// Router of a mixture-of-experts layer: softmax over experts, the K most probable (ties: lowest index), optionally
// renormalised. T rows, E experts, K experts per token, 1 <= K <= E. A row's bits depend on that row alone.

#include <cstdint>

namespace reprise::kernels {

struct RouterShape {
  int64_t tokens, experts, per_token;
  bool normalize;  // whether a token's weights add up to 1
};

// probability_TE = softmax(logits_TE) as in kernels/rows/softmax-inl.h; may be logits_TE. expert_TK: the K experts of
// highest probability, ties by lowest index, ascending by expert index. weight_TK: their probabilities p_k, or p_k / S
// with S = p_0 + p_1 + ... in ascending expert index if `normalize`. If a row's logits contain NaN, its weights are NaN
// and its experts are distinct but arbitrary.
void RouterForward(const RouterShape& shape, const float* logits_TE, float* probability_TE, int32_t* expert_TK,
                   float* weight_TK);

// Adds 1 to count_E[e] for every chosen expert.
void CountExperts(int64_t tokens, int64_t per_token, const int32_t* expert_TK, int64_t* count_E);

// dlogits_TE = gradient through softmax of: dweight_TK at the chosen experts (through the renormalisation if
// `normalize`), plus aux_E (the same for every row: d loss / d probability_te of the load-balancing loss; may be null).
// The choice of experts is a constant. dlogits_TE must not be probability_TE.
//
// Order: the probabilities' gradient dp starts as aux_E (+0 without) and adds, at chosen expert k, dweight_k or, when
// `normalize`, (dweight_k - c) / S, where S is as above and c = fma(dweight_k, weight_k, c) from +0 in ascending expert
// index. Then dlogits_e = p_e * (dp_e - a), a = sum of dp_e p_e by fused multiply-adds in 64 lanes and the fixed tree.
void RouterBackward(const RouterShape& shape, const float* probability_TE, const int32_t* expert_TK,
                    const float* weight_TK, const float* dweight_TK, const float* aux_E, float* dlogits_TE);

}  // namespace reprise::kernels

#endif  // KERNELS_ROUTER_ROUTER_H_
