#include "models/olmoe/memory_action_head.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise::models {
namespace {

MlpShape ShapeOf(int64_t hidden_dim, int64_t action_dim) {
  CHECK_GE(hidden_dim, 2);
  return {.inputs = hidden_dim, .hidden = {hidden_dim / 2}, .outputs = action_dim, .activation = Activation::kRelu};
}

}  // namespace

MemoryActionHead::MemoryActionHead(int64_t hidden_dim, int64_t action_dim)
    : hidden_dim_(hidden_dim),
      action_dim_(action_dim),
      mlp_(ShapeOf(hidden_dim, action_dim), "action_head", &layout_),
      flat_("action_head", DType::kF32, {layout_.total}) {
  Refresh();
}

int64_t MemoryActionHead::num_parameters() const {
  int64_t number = 0;
  for (const ParameterSpec& spec : layout_.specs) number += spec.size;
  return number;
}

void MemoryActionHead::Initialize(uint64_t seed) {
  mlp_.Initialize(seed, MlpGains(), mutable_parameters());
  Refresh();
}

std::unique_ptr<MemoryActionHead> MemoryActionHead::Copy() const {
  auto copy = std::make_unique<MemoryActionHead>(hidden_dim_, action_dim_);
  std::copy(parameters().begin(), parameters().end(), copy->mutable_parameters().begin());
  copy->Refresh();
  return copy;
}

absl::Status MemoryActionHead::CheckWidth(int64_t width) const {
  if (width == hidden_dim_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the embedding has ", width, " elements, but the action head reads ", hidden_dim_,
                   " (hidden_dim): use embeddings of a model with this hidden_size, encoded on the trainable backend"));
}

absl::StatusOr<std::vector<float>> MemoryActionHead::Forward(const kernels::ConstRows& embeddings_BH) const {
  RETURN_IF_ERROR(CheckWidth(embeddings_BH.width));
  std::vector<float> logits(static_cast<size_t>(embeddings_BH.rows * action_dim_));
  MlpBuffers buffers;
  mlp_.Forward(embeddings_BH, {logits.data(), embeddings_BH.rows, action_dim_}, &buffers);
  return logits;
}

}  // namespace reprise::models
