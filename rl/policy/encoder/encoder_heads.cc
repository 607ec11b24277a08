#include "rl/policy/encoder/encoder_heads.h"

#include <algorithm>
#include <vector>

#include "core/status/check.h"
#include "kernels/rows/elementwise.h"

namespace reprise::rl {
namespace {

constexpr double kReluGain = 1.4142135623730951;
constexpr double kFirstLogits = 0.01;  // gain of the last layer: the first policy is nearly uniform

models::MlpShape HeadShape(int64_t width, int64_t outputs) {
  return {.inputs = width, .hidden = {width / 2}, .outputs = outputs};
}

}  // namespace

EncoderHeads::EncoderHeads(int64_t width, const EncoderShape& shape, models::DecoderLayout* layout)
    : width_(width),
      actions_(shape.actions),
      first_spec_(static_cast<int>(layout->specs.size())),
      action_(HeadShape(width, shape.actions), "action_head", layout) {
  layout->policy_total = value_offset_ = layout->total;
  layout->policy_specs = static_cast<int>(layout->specs.size());
  if (shape.has_values) value_.emplace(HeadShape(width, 1), "value_head", layout);
  value_size_ = layout->total - value_offset_;
}

void EncoderHeads::Initialize(uint64_t seed, absl::Span<float> parameters) const {
  action_.Initialize(seed, {.hidden = kReluGain, .outputs = kFirstLogits}, parameters);
  if (value_) value_->Initialize(seed, {.hidden = kReluGain}, parameters);
}

void EncoderHeads::Refresh(absl::Span<const float> parameters) {
  action_.Refresh(parameters);
  if (value_) value_->Refresh(parameters);
}

void EncoderHeads::Logits(const kernels::ConstRows& embedding_UD, const kernels::Rows& logit_UA,
                          EncoderHeadBuffers* buffers) const {
  action_.Forward(embedding_UD, logit_UA, &buffers->action);
}

void EncoderHeads::Values(const kernels::ConstRows& embedding_UD, float* value_U, EncoderHeadBuffers* buffers) const {
  CHECK(value_.has_value());
  value_->Forward(embedding_UD, {value_U, embedding_UD.rows, 1}, &buffers->value);
}

void EncoderHeads::Backward(const kernels::ConstRows& embedding_UD, const kernels::ConstRows& dlogit_UA,
                            const float* dvalue_U, float* gradient, const kernels::Rows& dembedding_UD,
                            EncoderHeadBuffers* buffers) const {
  const kernels::GradientChains chains = {gradient, nullptr, 0, /*last=*/true};
  action_.Backward(embedding_UD, dlogit_UA, chains, dembedding_UD, &buffers->action);
  if (dvalue_U == nullptr) {
    std::fill_n(gradient + value_offset_, value_size_, 0.0f);
    return;
  }
  const int64_t rows = embedding_UD.rows;
  std::vector<float> of_value_UD(static_cast<size_t>(rows * width_));
  value_->Backward(embedding_UD, {dvalue_U, rows, 1}, chains, {of_value_UD.data(), rows, width_}, &buffers->value);
  for (int64_t u = 0; u < rows; ++u) {
    kernels::Add(width_, dembedding_UD[u], of_value_UD.data() + u * width_, dembedding_UD[u]);
  }
}

}  // namespace reprise::rl
