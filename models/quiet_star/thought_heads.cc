#include "models/quiet_star/thought_heads.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/tensor/room.h"
#include "kernels/math/vector_math.h"
#include "kernels/rows/elementwise.h"
#include "kernels/rows/mix_rows.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::Rows;

Rows RowsIn(Tensor& tensor, int64_t rows, int64_t width) { return {Room(tensor, rows * width), rows, width}; }

void CopyInto(const ConstRows& from, const Rows& to) {
  for (int64_t r = 0; r < from.rows; ++r) std::copy_n(from[r], from.width, to[r]);
}

MlpShape MixingShape(int64_t width) { return {.inputs = 2 * width, .hidden = {width, width}, .outputs = 1}; }

}  // namespace

absl::Status ValidateThoughtHeads(const ThoughtHeadsShape& shape, int64_t width) {
  if (shape.mixing == Mixing::kScalar) return absl::OkStatus();
  if (shape.attention_heads < 1 || width % shape.attention_heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat("the attention mixing head has ", shape.attention_heads,
                                                   " heads, which do not divide the model's width ", width,
                                                   ": choose a divisor of it"));
  }
  if (!(shape.dropout >= 0 && shape.dropout < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the attention mixing head's dropout is ", shape.dropout, ": it must be in [0, 1)"));
  }
  return absl::OkStatus();
}

ThoughtHeads::ThoughtHeads(int64_t width, const ThoughtHeadsShape& shape, DecoderLayout* layout)
    : width_(width), shape_(shape), first_spec_(static_cast<int>(layout->specs.size())) {
  if (shape.mixing == Mixing::kScalar) {
    scalar_.emplace(MixingShape(width), "mixing_head", layout);
  } else {
    attention_.emplace(width, shape.attention_heads, layout);
    coherence_.emplace(width, layout);
  }
  layout->policy_total = layout->total;
  layout->policy_specs = static_cast<int>(layout->specs.size());
  if (shape.has_values) value_.emplace(MlpShape{.inputs = width, .hidden = shape.value_hidden}, "value_head", layout);
}

void ThoughtHeads::Initialize(uint64_t seed, absl::Span<float> parameters) const {
  if (scalar_) scalar_->Initialize(seed, {.outputs = 0}, parameters);
  if (attention_) attention_->Initialize(seed, parameters);
  if (coherence_) coherence_->Initialize(seed, parameters);
  if (value_) value_->Initialize(seed, {}, parameters);
}

void ThoughtHeads::Refresh(absl::Span<const float> parameters) {
  if (scalar_) scalar_->Refresh(parameters);
  if (attention_) attention_->Refresh(parameters);
  if (coherence_) coherence_->Refresh(parameters);
  if (value_) value_->Refresh(parameters);
}

void ThoughtHeads::Mix(const ThoughtSets& sets, const Rows& mixed_XD, float* weight_X,
                       ThoughtHeadBuffers* buffers) const {
  if (attention_) return attention_->Forward(sets, mixed_XD, weight_X, &buffers->attention);
  const int64_t rows = sets.base_XD.rows;
  CHECK_EQ(sets.thought_YD.rows, rows);
  const Rows pair = RowsIn(buffers->pair_R2D, rows, 2 * width_);
  CopyInto(sets.base_XD, pair.Columns(0, width_));
  CopyInto(sets.thought_YD, pair.Columns(width_, width_));
  const Rows weight = RowsIn(buffers->weight_R, rows, 1);
  scalar_->Forward(pair, weight, &buffers->mixing);
  if (shape_.bounded) kernels::Sigmoid(weight.data, weight.data, static_cast<size_t>(rows));
  kernels::MixRows(sets.base_XD, sets.thought_YD, weight.data, mixed_XD);
  std::copy_n(weight.data, rows, weight_X);
}

void ThoughtHeads::MixBackward(const ThoughtSets& sets, const ConstRows& dmixed_XD,
                               const kernels::GradientChains& gradient, int64_t first_thought_row,
                               const AttentionMixer::Gradients& gradients, ThoughtHeadBuffers* buffers) const {
  if (attention_) {
    return attention_->Backward(sets, dmixed_XD, gradient, first_thought_row, gradients, &buffers->attention);
  }
  const Rows &dbase = gradients.dbase_XD, &dthought = gradients.dthought_YD;
  const int64_t rows = dmixed_XD.rows;
  const Rows pair = RowsIn(buffers->pair_R2D, rows, 2 * width_), dpair = RowsIn(buffers->dpair_R2D, rows, 2 * width_);
  const Rows weight = RowsIn(buffers->weight_R, rows, 1), dweight = RowsIn(buffers->dweight_R, rows, 1);
  kernels::MixRowsBackward(sets.base_XD, sets.thought_YD, weight.data, dmixed_XD, dbase, dthought, dweight.data);
  if (shape_.bounded) {
    for (int64_t r = 0; r < rows; ++r) dweight.data[r] *= weight.data[r] * (1.0f - weight.data[r]);
  }
  scalar_->Backward(pair, dweight, gradient, dpair, &buffers->mixing);
  for (int64_t r = 0; r < rows; ++r) {
    kernels::Add(width_, dbase[r], dpair[r], dbase[r]);
    kernels::Add(width_, dthought[r], dpair[r] + width_, dthought[r]);
  }
}

void ThoughtHeads::Values(const ConstRows& hidden_RD, float* value_R, ThoughtHeadBuffers* buffers) const {
  value_->Forward(hidden_RD, {value_R, hidden_RD.rows, 1}, &buffers->value);
}

void ThoughtHeads::ValuesBackward(const ConstRows& hidden_RD, const float* dvalue_R,
                                  const kernels::GradientChains& gradient, const Rows& dhidden_RD,
                                  ThoughtHeadBuffers* buffers) const {
  value_->Backward(hidden_RD, {dvalue_R, hidden_RD.rows, 1}, gradient, dhidden_RD, &buffers->value);
}

}  // namespace reprise::models
