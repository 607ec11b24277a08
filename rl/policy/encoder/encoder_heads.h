#ifndef RL_POLICY_ENCODER_ENCODER_HEADS_H_
#define RL_POLICY_ENCODER_ENCODER_HEADS_H_

// The heads of an encoder's policy, which read the embeddings of texts.

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "kernels/contract/operands.h"
#include "models/decoder/parameters.h"
#include "models/heads/mlp.h"

namespace reprise::rl {

struct EncoderShape {
  int64_t actions = 2;
  bool has_values = false;  // whether there is a value function

  bool operator==(const EncoderShape&) const = default;
};

// What Backward reads of a forward pass, and scratch memory of one thread.
struct EncoderHeadBuffers {
  models::MlpBuffers action, value;
};

class EncoderHeads {
 public:
  // Appends the parameters to `layout`, behind the encoder's: action_head.0.weight [width / 2, width], .0.bias,
  // .1.weight [actions, width / 2], .1.bias, and, with a value function, value_head.* of the same shape with one
  // output. A policy without values is the part of the layout up to the action head (models::PolicyPart).
  EncoderHeads(int64_t width, const EncoderShape& shape, models::DecoderLayout* layout);

  int64_t width() const { return width_; }  // of embeddings
  int64_t actions() const { return actions_; }
  bool has_values() const { return value_.has_value(); }
  int first_spec() const { return first_spec_; }  // the encoder's tensors are those before it

  // As those of models::Mlp, with arrays of the whole layout.
  void Initialize(uint64_t seed, absl::Span<float> parameters) const;
  void Refresh(absl::Span<const float> parameters);

  void Logits(const kernels::ConstRows& embedding_UD, const kernels::Rows& logit_UA, EncoderHeadBuffers* buffers) const;
  void Values(const kernels::ConstRows& embedding_UD, float* value_U, EncoderHeadBuffers* buffers) const;

  // Assigns the gradients of all heads, after Logits, and Values where dvalue_U is not null, of the same rows: all rows
  // of a shard. Returns in dembedding_UD what they add to the gradient of the embeddings: that of the action head, to
  // which the value head's is added. Without dvalue_U the value head's gradient is 0.
  void Backward(const kernels::ConstRows& embedding_UD, const kernels::ConstRows& dlogit_UA, const float* dvalue_U,
                float* gradient, const kernels::Rows& dembedding_UD, EncoderHeadBuffers* buffers) const;

 private:
  const int64_t width_, actions_;
  const int first_spec_;
  models::Mlp action_;
  int64_t value_offset_ = 0, value_size_ = 0;  // of the value head's parameters
  std::optional<models::Mlp> value_;
};

}  // namespace reprise::rl

#endif  // RL_POLICY_ENCODER_ENCODER_HEADS_H_
