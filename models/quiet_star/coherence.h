#ifndef MODELS_QUIET_STAR_COHERENCE_H_
#define MODELS_QUIET_STAR_COHERENCE_H_

// How coherent thoughts are with the text that they are about, in [0, 1]: a weighted sum of three scores of the mean m
// of a thought's hidden states and of the text's state h before it.
//
//   semantic    (cos(W h + b, m) + 1) / 2
//   syntactic   logistic(Linear(D/2, 1)(ReLU(Linear(D, D/2)(m))))
//   predictive  logistic(Linear(D, 1)(m))
//
// The weights are 0.4, 0.3 and 0.3. A row's bits depend on that row alone.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/flat_layout.h"
#include "core/tensor/tensor.h"
#include "kernels/contract/operands.h"
#include "models/heads/mlp.h"

namespace reprise::models {

struct CoherenceBuffers {
  MlpBuffers semantic, syntactic, predictive;
  Tensor projected_KD, norms_K2, cosine_K, syntactic_K, predictive_K, scratch_a, scratch_b, scratch_c;
};

class CoherenceScorer {
 public:
  // Appends coherence.semantic, .syntactic and .predictive.
  CoherenceScorer(int64_t width, FlatLayout* layout);

  // As those of models::Mlp.
  void Initialize(uint64_t seed, absl::Span<float> parameters) const;
  void Refresh(absl::Span<const float> parameters);

  // base_KD: h of each thought; mean_KD: m.
  void Forward(const kernels::ConstRows& base_KD, const kernels::ConstRows& mean_KD, float* coherence_K,
               CoherenceBuffers* buffers) const;
  // After Forward of the same rows: assigns the gradients of both inputs and continues the parameters' chains.
  void Backward(const kernels::ConstRows& base_KD, const kernels::ConstRows& mean_KD, const float* dcoherence_K,
                const kernels::GradientChains& gradient, const kernels::Rows& dbase_KD, const kernels::Rows& dmean_KD,
                CoherenceBuffers* buffers) const;

 private:
  const int64_t width_;
  Mlp semantic_, syntactic_, predictive_;
};

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_COHERENCE_H_
