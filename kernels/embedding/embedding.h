#ifndef KERNELS_EMBEDDING_EMBEDDING_H_
#define KERNELS_EMBEDDING_EMBEDDING_H_

#include <cstdint>

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// y[t] = table[token_T[t]]. The caller must check that tokens are in range.
void Embed(const int32_t* token_T, const float* table, const Rows& y);

// As above, from a table of bf16, extended to floats.
void Embed(const int32_t* token_T, const uint16_t* table, const Rows& y);

// gradient[token_T[t]] += dy[t], rows ascending: a plain sum in row order, continued across calls (the caller zeroes
// the gradient at the start of a shard). Rows of `skip_token` (the padding token; -1: none) contribute nothing, as in
// torch's padding_idx.
void EmbedBackward(const int32_t* token_T, const ConstRows& dy, int32_t skip_token, float* gradient);

}  // namespace reprise::kernels

#endif  // KERNELS_EMBEDDING_EMBEDDING_H_
