#include "models/olmoe/torch_olmoe.h"

#include "ATen/ops/from_blob.h"
#include "ATen/ops/linear.h"
#include "ATen/ops/relu.h"
#include "ATen/ops/stack.h"
#include "core/status/status_macros.h"
#include "models/decoder/torch/torch_function.h"

namespace reprise::models {

TorchOlmoe::TorchOlmoe(OlmoeModel* model)
    : model_(model), decoder_(TorchParameters(model->model())), parameters_(decoder_) {
  MemoryActionHead& head = *model->action_head();
  for (const ParameterSpec& spec : head.layout().specs) {
    float* const data = head.mutable_parameters().data() + spec.offset;
    parameters_.push_back(at::from_blob(data, spec.shape, at::kFloat).requires_grad_());
  }
}

absl::StatusOr<TorchOlmoe> TorchOlmoe::Create(OlmoeModel* model) {
  if (!model->is_loaded()) return absl::FailedPreconditionError(kModelNotLoaded);
  if (model->action_head() == nullptr) return absl::FailedPreconditionError(kNoActionHead);
  return TorchOlmoe(model);
}

at::Tensor TorchOlmoe::EncodeTokens(const std::vector<std::vector<int32_t>>& tokens_BS) const {
  PackedBatch batch;
  for (const std::vector<int32_t>& tokens : tokens_BS) {
    batch.segments.push_back({batch.rows(), static_cast<int64_t>(tokens.size()), kNoPrefix});
    batch.token_T.insert(batch.token_T.end(), tokens.begin(), tokens.end());
    for (size_t i = 0; i < tokens.size(); ++i) batch.position_T.push_back(static_cast<int32_t>(i));
  }
  const at::Tensor hidden_TD = DecoderHidden(*model_->model(), batch, decoder_);
  std::vector<at::Tensor> mean_B;
  for (const Segment& segment : batch.segments) {
    mean_B.push_back(hidden_TD.narrow(0, segment.begin, segment.rows).mean(0));
  }
  return at::stack(mean_B);
}

absl::StatusOr<at::Tensor> TorchOlmoe::Encode(absl::string_view text) const {
  ASSIGN_OR_RETURN(const std::vector<int32_t> tokens, model_->TokensOf(text));
  return EncodeTokens({tokens}).squeeze(0);
}

absl::StatusOr<at::Tensor> TorchOlmoe::Encode(absl::Span<const std::string> texts) const {
  ASSIGN_OR_RETURN(const std::vector<std::vector<int32_t>> tokens_BS, model_->TokensOf(texts));
  if (tokens_BS.empty()) return absl::InvalidArgumentError("there are no texts to encode");
  return EncodeTokens(tokens_BS);
}

absl::StatusOr<at::Tensor> TorchOlmoe::ActionLogits(const at::Tensor& embedding) const {
  if (!embedding.defined() || embedding.scalar_type() != at::kFloat || embedding.dim() < 1 || embedding.dim() > 2) {
    return absl::InvalidArgumentError("embeddings are floats of one or two dimensions");
  }
  RETURN_IF_ERROR(model_->action_head()->CheckWidth(embedding.size(-1)));
  const at::Tensor* const head = parameters_.data() + decoder_.size();
  return at::linear(at::relu(at::linear(embedding, head[0], head[1])), head[2], head[3]);
}

}  // namespace reprise::models
