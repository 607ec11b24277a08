#ifndef MODELS_OLMOE_TORCH_OLMOE_H_
#define MODELS_OLMOE_TORCH_OLMOE_H_

// An OlmoeModel in LibTorch's graphs: embeddings and action logits whose gradients reach every parameter that they
// depend on, so that an optimizer of LibTorch can train decoder and action head. The decoder's part has the bits of its
// native passes (models/decoder/torch/torch_function.h); the mean over tokens and the head are computed by LibTorch,
// whose sums have another order than those of OlmoeModel::Encode and ActionLogits.
//
//   ASSIGN_OR_RETURN(TorchOlmoe torch_model, TorchOlmoe::Create(&model));
//   torch::optim::AdamW optimizer(torch_model.parameters());
//   for (...) {
//     ... embedding = torch_model.Encode(text), logits = torch_model.ActionLogits(embedding), loss = ...
//     ... loss.backward(); optimizer.step(); optimizer.zero_grad();
//     model.Refresh();
//   }

#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "models/olmoe/olmoe_model.h"

namespace reprise::models {

class TorchOlmoe {
 public:
  // The model must outlive the result and its graphs, and must not be loaded again. Errors: kModelNotLoaded;
  // kNoActionHead on the inference-only backend, which has no gradients.
  static absl::StatusOr<TorchOlmoe> Create(OlmoeModel* model);

  // The parameters as leaves that require gradients: those of OlmoeModel::Parameters, in that order. They alias the
  // model's parameters: after a step on them, model->Refresh() must be called. They must not change between a forward
  // pass and the last backward pass through its graph.
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

  // Returns the embedding of a text, [hidden_size], differentiable once: the mean of the last hidden states over the
  // text's tokens. Errors of OlmoeModel::TokensOf.
  absl::StatusOr<at::Tensor> Encode(absl::string_view text) const;
  // The same for several texts, at least one, packed without padding: [texts, hidden_size].
  absl::StatusOr<at::Tensor> Encode(absl::Span<const std::string> texts) const;

  // Returns the logits of the actions for embeddings [hidden_size] or [texts, hidden_size], differentiable by the
  // embeddings and by the head's parameters. InvalidArgument for a tensor of another type or number of dimensions, and,
  // naming both sizes, for one of another width.
  absl::StatusOr<at::Tensor> ActionLogits(const at::Tensor& embedding) const;

 private:
  explicit TorchOlmoe(OlmoeModel* model);
  at::Tensor EncodeTokens(const std::vector<std::vector<int32_t>>& tokens_BS) const;

  OlmoeModel* model_;
  std::vector<at::Tensor> decoder_, parameters_;
};

}  // namespace reprise::models

#endif  // MODELS_OLMOE_TORCH_OLMOE_H_
