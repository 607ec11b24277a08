#ifndef KERNELS_EXPERTS_TOKEN_ROWS_H_
#define KERNELS_EXPERTS_TOKEN_ROWS_H_

// The elementwise parts of a mixture of experts, between rows of tokens and dispatched rows.

#include <cstdint>

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// Whose the dispatched rows are: row r is slot_R[r], of per_token slots, of token token_R[r].
struct Dispatch {
  const int32_t *token_R, *slot_R;
  int64_t per_token;

  int64_t At(int64_t r) const { return token_R[r] * per_token + slot_R[r]; }  // in arrays [T, K]
};

// x_RD[r] = x_TD[token_R[r]].
void GatherRows(const int32_t* token_R, const ConstRows& x_TD, const Rows& x_RD);

// x_RD[r] = weight_TK[token_R[r], slot_R[r]] * x_TD[token_R[r]].
void GatherScaledRows(const Dispatch& dispatch, const float* weight_TK, const ConstRows& x_TD, const Rows& x_RD);

// y_TD[t, d] starts at 0 and becomes fma(weight_TK[t, k], x_RD[row_TK[t, k], d], y) for k = 0, 1, ..., per_token - 1.
void MixRows(int64_t per_token, const int32_t* row_TK, const float* weight_TK, const ConstRows& x_RD, const Rows& y_TD);

// As MixRows with every weight 1.
void AddRows(int64_t per_token, const int32_t* row_TK, const ConstRows& x_RD, const Rows& y_TD);

// dot_TK[token_R[r], slot_R[r]] = chain of a_TD[token_R[r], d] * b_RD[r, d] over ascending d, restarted every kSegment.
void DotRows(const Dispatch& dispatch, const ConstRows& a_TD, const ConstRows& b_RD, float* dot_TK);

}  // namespace reprise::kernels

#endif  // KERNELS_EXPERTS_TOKEN_ROWS_H_
