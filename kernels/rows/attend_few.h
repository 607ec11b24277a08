#ifndef KERNELS_ROWS_ATTEND_FEW_H_
#define KERNELS_ROWS_ATTEND_FEW_H_

// Attention of one row over a few others, head by head, with a bias of each of them that all heads share: by which a
// state reads several thoughts about it.
//
// Order contract, per head of width w, with the columns d of the head: s_k = fma(chain over d of q_d k_kd, scale, b_k);
// m = max; e_k = exp(s_k - m); p_k = e_k / (sum of e_k, ascending k); f_k = p_k factor_k; out_d = chain over ascending
// k of f_k v_kd. Backward: df_k = chain over d of dout_d v_kd; dp_k = df_k factor_k; D = chain over k of p_k dp_k; ds_k
// = p_k (dp_k - D); dv_kd = f_k dout_d; dq_d = chain over k of (ds_k scale) k_kd; dk_kd = (ds_k scale) q_d; db_k adds
// the heads' ds_k, ascending. Chains are of fused multiply-adds from +0, never restarted: rows are short.

#include "kernels/contract/operands.h"

namespace reprise::kernels {

struct FewKeys {
  const float* q_D = nullptr;
  ConstRows k_KD, v_KD;              // at least one row
  const float* bias_K = nullptr;     // null: 0
  const float* factor_KH = nullptr;  // of probabilities, such as those that dropout keeps; null: 1
  int64_t heads = 1;                 // divides the width
  float scale = 1;
};

// Writes probability_KH (p) for backward, and out_D.
void AttendFew(const FewKeys& keys, float* probability_KH, float* out_D);

// Assigns the gradients of the query, the keys, the values and the biases (dbias_K may be null).
struct FewKeyGradients {
  float* dq_D = nullptr;
  Rows dk_KD, dv_KD;
  float* dbias_K = nullptr;
};
void AttendFewBackward(const FewKeys& keys, const float* probability_KH, const float* dout_D,
                       const FewKeyGradients& gradients);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_ATTEND_FEW_H_
