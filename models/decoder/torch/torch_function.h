#ifndef MODELS_DECODER_TORCH_TORCH_FUNCTION_H_
#define MODELS_DECODER_TORCH_TORCH_FUNCTION_H_

// The decoder as a node of LibTorch's graphs: anything that is built with LibTorch on top of its hidden states can be
// trained through it. Forward and backward are the native ones, so that the decoder's part keeps its bits; the rest of
// the graph is computed by LibTorch. Intra-op threads are 1 (at::set_num_threads), and gradients are computed with
// torch::autograd::grad, which returns them: nothing here writes to a tensor's .grad.

#include <vector>

#include "ATen/core/Tensor.h"
#include "models/decoder/batch.h"
#include "models/decoder/model.h"

namespace reprise::models {

// Returns the model's parameters as leaves that require gradients, one per spec in the order of its layout. They are
// not copies: they alias the model's array and must not outlive the model. After changing them the caller must refresh
// the model (Model::Refresh) before calling DecoderHidden again.
std::vector<at::Tensor> TorchParameters(Model* model);

// Returns hidden states after the final norm, float [T, D], differentiable once by `parameters`, which must be those of
// TorchParameters(model) (checked). The gradients by heads, such as an untied lm-head, are undefined, because the
// hidden states do not depend on them: pass allow_unused to torch::autograd::grad, or use the leaf in a head. The model
// must be a training model and outlive the graph, with its parameters unchanged until the graph's last backward pass.
at::Tensor DecoderHidden(const Model& model, const PackedBatch& batch, const std::vector<at::Tensor>& parameters);

// The same for one sequence from position 0: tokens_T is int64 [T], on the CPU.
at::Tensor DecoderHidden(const Model& model, const at::Tensor& tokens_T, const std::vector<at::Tensor>& parameters);

}  // namespace reprise::models

#endif  // MODELS_DECODER_TORCH_TORCH_FUNCTION_H_
