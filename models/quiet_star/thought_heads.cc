#include "models/quiet_star/thought_heads.h"

#include <algorithm>
#include <utility>

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

ThoughtHeads::ThoughtHeads(int64_t width, const ThoughtHeadsShape& shape, DecoderLayout* layout)
    : width_(width),
      shape_(shape),
      first_spec_(static_cast<int>(layout->specs.size())),
      mixing_(MixingShape(width), "mixing_head", layout) {
  layout->policy_total = layout->total;
  layout->policy_specs = static_cast<int>(layout->specs.size());
  if (shape.has_values) value_.emplace(MlpShape{.inputs = width, .hidden = shape.value_hidden}, "value_head", layout);
}

void ThoughtHeads::Initialize(uint64_t seed, absl::Span<float> parameters) const {
  mixing_.Initialize(seed, {.outputs = 0}, parameters);
  if (value_) value_->Initialize(seed, {}, parameters);
}

void ThoughtHeads::Refresh(absl::Span<const float> parameters) {
  mixing_.Refresh(parameters);
  if (value_) value_->Refresh(parameters);
}

void ThoughtHeads::Mix(const ConstRows& base_RD, const ConstRows& thought_RD, const Rows& mixed_RD, float* weight_R,
                       ThoughtHeadBuffers* buffers) const {
  const int64_t rows = base_RD.rows;
  const Rows pair = RowsIn(buffers->pair_R2D, rows, 2 * width_);
  CopyInto(base_RD, pair.Columns(0, width_));
  CopyInto(thought_RD, pair.Columns(width_, width_));
  const Rows weight = RowsIn(buffers->weight_R, rows, 1);
  mixing_.Forward(pair, weight, &buffers->mixing);
  if (shape_.bounded) kernels::Sigmoid(weight.data, weight.data, static_cast<size_t>(rows));
  kernels::MixRows(base_RD, thought_RD, weight.data, mixed_RD);
  std::copy_n(weight.data, rows, weight_R);
}

void ThoughtHeads::MixBackward(const ConstRows& base_RD, const ConstRows& thought_RD, const ConstRows& dmixed_RD,
                               const kernels::GradientChains& gradient, const Rows& dbase_RD, const Rows& dthought_RD,
                               ThoughtHeadBuffers* buffers) const {
  const int64_t rows = dmixed_RD.rows;
  const Rows pair = RowsIn(buffers->pair_R2D, rows, 2 * width_), dpair = RowsIn(buffers->dpair_R2D, rows, 2 * width_);
  const Rows weight = RowsIn(buffers->weight_R, rows, 1), dweight = RowsIn(buffers->dweight_R, rows, 1);
  kernels::MixRowsBackward(base_RD, thought_RD, weight.data, dmixed_RD, dbase_RD, dthought_RD, dweight.data);
  if (shape_.bounded) {
    for (int64_t r = 0; r < rows; ++r) dweight.data[r] *= weight.data[r] * (1.0f - weight.data[r]);
  }
  mixing_.Backward(pair, dweight, gradient, dpair, &buffers->mixing);
  for (int64_t r = 0; r < rows; ++r) {
    kernels::Add(width_, dbase_RD[r], dpair[r], dbase_RD[r]);
    kernels::Add(width_, dthought_RD[r], dpair[r] + width_, dthought_RD[r]);
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
