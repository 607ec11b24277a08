#ifndef MODELS_MORPHOGENESIS_NETWORKS_TOKEN_OPS_H_
#define MODELS_MORPHOGENESIS_NETWORKS_TOKEN_OPS_H_

// Differentiable functions of sequences of tokens, and losses.

#include <cstdint>

#include "ATen/core/Tensor.h"
#include "absl/types/span.h"

namespace reprise::models {

// table[token] + positions[t] -> [B, T, C]. Tokens must be in range, and T at most the rows of `positions`.
at::Tensor EmbedTokens(absl::Span<const int32_t> tokens_BT, int64_t length, const at::Tensor& table_VC,
                       const at::Tensor& positions_TC);

// Causal attention of several heads: qkv [B, T, 3 C], queries then keys then values, each head by head -> [B, T, C].
// heads divides C. Scores are scaled by 1 / sqrt(C / heads).
at::Tensor CausalAttention(const at::Tensor& qkv_BTC3, int64_t heads);

// A batch's mean cross-entropy, a scalar, and the rows whose first greatest logit is the target's.
struct BatchLoss {
  at::Tensor mean;
  int64_t correct = 0, total = 0;
};

// Targets must be in range.
BatchLoss CrossEntropy(const at::Tensor& logits_BK, absl::Span<const int32_t> targets_B);

// The same for logits = hidden table^T, which are never stored: their rows take turns.
BatchLoss TokenCrossEntropy(const at::Tensor& hidden_BTC, const at::Tensor& table_VC,
                            absl::Span<const int32_t> targets_BT);

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_NETWORKS_TOKEN_OPS_H_
