#ifndef MODELS_QUIET_STAR_ATTENTION_MIXER_H_
#define MODELS_QUIET_STAR_ATTENTION_MIXER_H_

// The attention mixing head: a text's state reads the K thoughts of its position together, and a gate decides how much
// of what it reads is taken over.
//
//   q = W_q h,  k_i = W_k h'_i,  v_i = W_v h'_i     (all with biases)
//   t = W_o concat over heads of (sum over i of softmax_i(q . k_i / sqrt(width) + c_i) v_i)
//   g = logistic(W_g [h; t])      mixed = g t + (1 - g) h      output = LayerNorm(h + mixed)
//
// c_i is the coherence of thought i (coherence.h). In training, probabilities are dropped by factors that the caller
// draws. A set's bits depend on that set alone.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/flat_layout.h"
#include "core/tensor/tensor.h"
#include "kernels/contract/operands.h"
#include "models/heads/mlp.h"

namespace reprise::models {

// X text rows, each with the thoughts' rows [first_X[x], first_X[x + 1]), at least one.
struct ThoughtSets {
  kernels::ConstRows base_XD, thought_YD;
  absl::Span<const int64_t> first_X;
  const float* coherence_Y = nullptr;  // null: 0
  const float* factor_YH = nullptr;    // of probabilities; null: 1
};

struct AttentionMixerBuffers {
  MlpBuffers query, key, value, output, gate;
  Tensor q_XD, k_YD, v_YD, probability_YH, attended_XD, thought_XD, pair_X2D, gate_XD, normal_XD, inverse_deviation_X,
      scratch_a, scratch_b, scratch_c, scratch_d, scratch_e;
};

class AttentionMixer {
 public:
  // Appends mixing_head.query, .key, .value, .output, .gate (each .0.weight and .0.bias) and .norm (weight, bias).
  // heads divides the width.
  AttentionMixer(int64_t width, int64_t heads, FlatLayout* layout);

  // As those of models::Mlp. A new head's norm has gain 1.
  void Initialize(uint64_t seed, absl::Span<float> parameters) const;
  void Refresh(absl::Span<const float> parameters);

  int64_t heads() const { return heads_; }

  // Computes the outputs, and for each set the mean of its gate.
  void Forward(const ThoughtSets& sets, const kernels::Rows& mixed_XD, float* gate_mean_X,
               AttentionMixerBuffers* buffers) const;

  // After Forward of the same sets: assigns the gradients of both inputs and of the coherences, and continues the
  // parameters' chains. Those of W_k and W_v, which see all thoughts' rows, are at row first_thought_row of the shard.
  struct Gradients {
    kernels::Rows dbase_XD, dthought_YD;
    float* dcoherence_Y = nullptr;
  };
  void Backward(const ThoughtSets& sets, const kernels::ConstRows& dmixed_XD, const kernels::GradientChains& gradient,
                int64_t first_thought_row, const Gradients& gradients, AttentionMixerBuffers* buffers) const;

 private:
  const int64_t width_, heads_;
  Mlp query_, key_, value_, output_, gate_;
  int64_t gain_offset_ = 0, bias_offset_ = 0;
  std::vector<float> gain_, bias_;  // of the last Refresh
};

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_ATTENTION_MIXER_H_
