#ifndef MODELS_OLMOE_MEMORY_ACTION_HEAD_H_
#define MODELS_OLMOE_MEMORY_ACTION_HEAD_H_

// The head that chooses an action on a memory by the embedding of a text: Linear(H, H / 2), ReLU, Linear(H / 2,
// actions). The logits of an embedding depend on that embedding alone (models/heads/mlp.h).

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/tensor/flat_layout.h"
#include "core/tensor/tensor.h"
#include "kernels/contract/operands.h"
#include "models/heads/mlp.h"

namespace reprise::models {

class MemoryActionHead {
 public:
  // add, update, delete, retrieve, summary, filter
  static constexpr int64_t kActions = 6;

  // hidden_dim >= 2. All parameters are 0 until Initialize, or until the caller fills them and calls Refresh.
  explicit MemoryActionHead(int64_t hidden_dim, int64_t action_dim = kActions);

  int64_t hidden_dim() const { return hidden_dim_; }  // H, the width of embeddings
  int64_t action_dim() const { return action_dim_; }

  // action_head.0.weight [H / 2, H], action_head.0.bias, action_head.1.weight [actions, H / 2], action_head.1.bias.
  const FlatLayout& layout() const { return layout_; }
  int64_t num_parameters() const;
  absl::Span<const float> parameters() const { return flat_.data<float>(); }
  absl::Span<float> mutable_parameters() { return flat_.mutable_data<float>(); }

  // Sets the initial parameters, a pure function of the seed (Mlp::Initialize), and packs them.
  void Initialize(uint64_t seed);
  // Packs the parameters; must be called after every change of them.
  void Refresh() { mlp_.Refresh(parameters()); }
  // Returns a head with parameters of its own, equal to these.
  std::unique_ptr<MemoryActionHead> Copy() const;

  // Returns the logits, [rows, actions]. InvalidArgument, naming both sizes, for embeddings of another width, such as
  // the means of logits that Encode of an inference-only model returns.
  absl::StatusOr<std::vector<float>> Forward(const kernels::ConstRows& embeddings_BH) const;
  // The same for one embedding [H].
  absl::StatusOr<std::vector<float>> Forward(absl::Span<const float> embedding_H) const {
    return Forward(kernels::ConstRows{embedding_H.data(), 1, static_cast<int64_t>(embedding_H.size())});
  }

  // Returns the error of Forward for embeddings of this width.
  absl::Status CheckWidth(int64_t width) const;

 private:
  const int64_t hidden_dim_, action_dim_;
  FlatLayout layout_;
  Mlp mlp_;
  Tensor flat_;
};

}  // namespace reprise::models

#endif  // MODELS_OLMOE_MEMORY_ACTION_HEAD_H_
