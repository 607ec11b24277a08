#ifndef KERNELS_ROUTER_ROUTER_H_
#define KERNELS_ROUTER_ROUTER_H_

// Router of a mixture-of-experts layer: softmax over experts, the K most probable (ties: lowest index), optionally
// renormalised. T rows, E experts, K experts a token.

#include <cstdint>

namespace reprise::kernels {

// probability_TE = softmax(logits_TE); expert_TK ascending by expert index; weight_TK their probabilities, divided by
// their sum (added in ascending expert index) when `normalize`.
void RouterForward(int64_t tokens, int64_t experts, int64_t per_token, bool normalize, const float* logits_TE,
                   float* probability_TE, int32_t* expert_TK, float* weight_TK);

// Adds 1 to count_E[e] for every chosen expert.
void CountExperts(int64_t tokens, int64_t per_token, const int32_t* expert_TK, int64_t* count_E);

// dlogits_TE = gradient through softmax of: dweight_TK at the chosen experts (through the renormalisation if
// `normalize`), plus aux_E (the same for every row: d loss / d probability_te of the load-balancing loss; may be null).
void RouterBackward(int64_t tokens, int64_t experts, int64_t per_token, bool normalize, const float* probability_TE,
                    const int32_t* expert_TK, const float* weight_TK, const float* dweight_TK, const float* aux_E,
                    float* dlogits_TE);

}  // namespace reprise::kernels

#endif  // KERNELS_ROUTER_ROUTER_H_
