#ifndef MODELS_QUIET_STAR_THOUGHT_HEADS_H_
#define MODELS_QUIET_STAR_THOUGHT_HEADS_H_

// The heads of a model that thinks: the mixing head, by which thoughts change what the model predicts, and the value
// function. Their parameters lie behind the decoder's in one layout.
//
// The scalar mixing head (the default; arXiv 2403.09629, section 4.3) computes from the hidden state h of a text row
// and that of the thought's row that predicts the same token, h', a weight w, and mixes:
//
//   w = MLP([h; h'])    three layers with ReLU, the last one's weights 0 at first    m = (1 - w) h + w h'
//
// As the lm-head is linear, its log-probabilities of m are the normalised mixture of both log-probabilities: log p_m =
// (1 - w) log p + w log p' - log Z. Where `bounded`, w is the logistic function of the network's output instead.
// A new head has w = 0 (bounded: 1/2): a new model predicts as if it did not think.
//
// The attention mixing head (attention_mixer.h) is an option: it mixes all thoughts of a position together, weighted
// also by their coherence (coherence.h). Then the thoughts of a position share what is predicted.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/tensor/tensor.h"
#include "kernels/contract/operands.h"
#include "models/decoder/parameters.h"
#include "models/heads/mlp.h"
#include "models/quiet_star/attention_mixer.h"
#include "models/quiet_star/coherence.h"

namespace reprise::models {

enum class Mixing { kScalar, kAttention };

struct ThoughtHeadsShape {
  Mixing mixing = Mixing::kScalar;
  bool bounded = false;                            // of the scalar head
  int64_t attention_heads = 8;                     // of the attention head; divides the model's width
  double dropout = 0.1;                            // of the attention head's probabilities, in training
  bool has_values = false;                         // whether there is a value function
  std::vector<int64_t> value_hidden = {256, 256};  // widths of its hidden layers
  bool values_train_decoder = false;               // whether its gradient passes on to the hidden states it reads

  bool operator==(const ThoughtHeadsShape&) const = default;
};

// InvalidArgument if the attention head's number of heads does not divide the width.
absl::Status ValidateThoughtHeads(const ThoughtHeadsShape& shape, int64_t width);

// What Backward reads of a forward pass, and scratch memory of one thread.
struct ThoughtHeadBuffers {
  MlpBuffers mixing, value;
  AttentionMixerBuffers attention;
  CoherenceBuffers coherence;
  Tensor pair_R2D, dpair_R2D, weight_R, dweight_R;
};

class ThoughtHeads {
 public:
  // Appends the parameters to `layout`: mixing_head.*, of the attention head also coherence.*, and value_head.* where
  // the shape has it. The shape must be valid. A policy without values is the part of the layout up to the value head
  // (models::PolicyPart).
  ThoughtHeads(int64_t width, const ThoughtHeadsShape& shape, DecoderLayout* layout);

  const ThoughtHeadsShape& shape() const { return shape_; }
  int64_t width() const { return width_; }
  int first_spec() const { return first_spec_; }  // the decoder's tensors are those before it
  bool has_values() const { return value_.has_value(); }
  // Whether all thoughts of a position are mixed together: then a set has several thoughts, else each has one.
  bool is_joint() const { return attention_.has_value(); }

  // As those of models::Mlp, with arrays of the whole layout.
  void Initialize(uint64_t seed, absl::Span<float> parameters) const;
  void Refresh(absl::Span<const float> parameters);

  // Computes the mixed states of sets, and of each the weight of the thoughts (of the attention head its mean gate).
  void Mix(const ThoughtSets& sets, const kernels::Rows& mixed_XD, float* weight_X, ThoughtHeadBuffers* buffers) const;
  // After Mix of the same sets: assigns the gradients and continues the parameters' chains; first_thought_row: how many
  // thoughts' rows the shard had before. The scalar head leaves dcoherence_Y as it is.
  void MixBackward(const ThoughtSets& sets, const kernels::ConstRows& dmixed_XD,
                   const kernels::GradientChains& gradient, int64_t first_thought_row,
                   const AttentionMixer::Gradients& gradients, ThoughtHeadBuffers* buffers) const;

  // Of the attention head's: null without it.
  const CoherenceScorer* coherence() const { return coherence_ ? &*coherence_ : nullptr; }
  int64_t attention_heads() const { return attention_ ? attention_->heads() : 0; }

  // Computes the values of hidden states; then continues the parameters' chains and, unless its data is null, assigns
  // the gradient of the hidden states.
  void Values(const kernels::ConstRows& hidden_RD, float* value_R, ThoughtHeadBuffers* buffers) const;
  void ValuesBackward(const kernels::ConstRows& hidden_RD, const float* dvalue_R,
                      const kernels::GradientChains& gradient, const kernels::Rows& dhidden_RD,
                      ThoughtHeadBuffers* buffers) const;

 private:
  const int64_t width_;
  const ThoughtHeadsShape shape_;
  const int first_spec_;
  std::optional<Mlp> scalar_;
  std::optional<AttentionMixer> attention_;
  std::optional<CoherenceScorer> coherence_;
  std::optional<Mlp> value_;
};

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_THOUGHT_HEADS_H_
