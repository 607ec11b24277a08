#include "models/quiet_star/attention_mixer.h"

#include <algorithm>

#include "core/status/check.h"
#include "core/tensor/room.h"
#include "kernels/math/scalar_math.h"
#include "kernels/math/vector_math.h"
#include "kernels/rows/attend_few.h"
#include "kernels/rows/column_chains.h"
#include "kernels/rows/elementwise.h"
#include "kernels/rows/layer_norm.h"
#include "kernels/rows/mean_rows.h"
#include "kernels/rows/mix_rows.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::Rows;

constexpr float kNormEpsilon = 1e-5f;

Rows RowsIn(Tensor& tensor, int64_t rows, int64_t width) { return {Room(tensor, rows * width), rows, width}; }

void CopyInto(const ConstRows& from, const Rows& to) {
  for (int64_t r = 0; r < from.rows; ++r) std::copy_n(from[r], from.width, to[r]);
}

// The elements of dense rows as rows of one.
template <typename View>
View Elements(const View& rows) {
  return {rows.data, rows.rows * rows.width, 1};
}

MlpShape Linear(int64_t inputs, int64_t outputs) { return {.inputs = inputs, .outputs = outputs}; }

kernels::FewKeys KeysOf(const ThoughtSets& sets, int64_t x, int64_t heads, const AttentionMixerBuffers& buffers) {
  const int64_t width = sets.base_XD.width, first = sets.first_X[x];
  const kernels::Range range = {first, sets.first_X[static_cast<size_t>(x) + 1]};
  const ConstRows k = {buffers.k_YD.data<float>().data(), sets.thought_YD.rows, width},
                  v = {buffers.v_YD.data<float>().data(), sets.thought_YD.rows, width};
  return {buffers.q_XD.data<float>().data() + x * width,
          k.Slice(range),
          v.Slice(range),
          sets.coherence_Y == nullptr ? nullptr : sets.coherence_Y + first,
          sets.factor_YH == nullptr ? nullptr : sets.factor_YH + first * heads,
          heads,
          static_cast<float>(1.0 / kernels::Sqrt(static_cast<double>(width / heads)))};
}

}  // namespace

AttentionMixer::AttentionMixer(int64_t width, int64_t heads, FlatLayout* layout)
    : width_(width),
      heads_(heads),
      query_(Linear(width, width), "mixing_head.query", layout),
      key_(Linear(width, width), "mixing_head.key", layout),
      value_(Linear(width, width), "mixing_head.value", layout),
      output_(Linear(width, width), "mixing_head.output", layout),
      gate_(Linear(2 * width, width), "mixing_head.gate", layout),
      gain_(static_cast<size_t>(width)),
      bias_(static_cast<size_t>(width)) {
  CHECK_EQ(width % heads, 0);
  const auto append = [&](const char* name) {
    const int spec = layout->Append(name, {width}, ParameterKind::kVector);
    return layout->specs[spec].offset;
  };
  gain_offset_ = append("mixing_head.norm.weight");
  bias_offset_ = append("mixing_head.norm.bias");
}

void AttentionMixer::Initialize(uint64_t seed, absl::Span<float> parameters) const {
  for (const Mlp* const linear : {&query_, &key_, &value_, &output_, &gate_}) linear->Initialize(seed, {}, parameters);
  std::fill_n(parameters.begin() + gain_offset_, width_, 1.0f);
  std::fill_n(parameters.begin() + bias_offset_, width_, 0.0f);
}

void AttentionMixer::Refresh(absl::Span<const float> parameters) {
  for (Mlp* const linear : {&query_, &key_, &value_, &output_, &gate_}) linear->Refresh(parameters);
  std::copy_n(parameters.begin() + gain_offset_, width_, gain_.begin());
  std::copy_n(parameters.begin() + bias_offset_, width_, bias_.begin());
}

void AttentionMixer::Forward(const ThoughtSets& sets, const Rows& mixed_XD, float* gate_mean_X,
                             AttentionMixerBuffers* buffers) const {
  const int64_t count = sets.base_XD.rows, thoughts = sets.thought_YD.rows;
  query_.Forward(sets.base_XD, RowsIn(buffers->q_XD, count, width_), &buffers->query);
  key_.Forward(sets.thought_YD, RowsIn(buffers->k_YD, thoughts, width_), &buffers->key);
  value_.Forward(sets.thought_YD, RowsIn(buffers->v_YD, thoughts, width_), &buffers->value);
  const Rows attended = RowsIn(buffers->attended_XD, count, width_),
             probability = RowsIn(buffers->probability_YH, thoughts, heads_);
  for (int64_t x = 0; x < count; ++x) {
    kernels::AttendFew(KeysOf(sets, x, heads_, *buffers), probability[sets.first_X[x]], attended[x]);
  }
  const Rows thought = RowsIn(buffers->thought_XD, count, width_), pair = RowsIn(buffers->pair_X2D, count, 2 * width_),
             gate = RowsIn(buffers->gate_XD, count, width_), sum = RowsIn(buffers->scratch_a, count, width_);
  output_.Forward(attended, thought, &buffers->output);
  CopyInto(sets.base_XD, pair.Columns(0, width_));
  CopyInto(thought, pair.Columns(width_, width_));
  gate_.Forward(pair, gate, &buffers->gate);
  const int64_t elements = count * width_;
  kernels::Sigmoid(gate.data, gate.data, static_cast<size_t>(elements));
  kernels::MixRows(Elements(sets.base_XD), Elements(ConstRows(thought)), gate.data, Elements(sum));
  kernels::Add(elements, sets.base_XD.data, sum.data, sum.data);
  kernels::LayerNorm(sum, gain_.data(), bias_.data(), kNormEpsilon, mixed_XD, RowsIn(buffers->normal_XD, count, width_),
                     Room(buffers->inverse_deviation_X, count));
  for (int64_t x = 0; x < count; ++x) kernels::MeanOfRows({gate[x], width_, 1}, gate_mean_X + x);
}

void AttentionMixer::Backward(const ThoughtSets& sets, const ConstRows& dmixed_XD,
                              const kernels::GradientChains& gradient, int64_t first_thought_row,
                              const Gradients& gradients, AttentionMixerBuffers* buffers) const {
  const int64_t count = sets.base_XD.rows, thoughts = sets.thought_YD.rows, elements = count * width_;
  const Rows thought = RowsIn(buffers->thought_XD, count, width_), gate = RowsIn(buffers->gate_XD, count, width_),
             normal = RowsIn(buffers->normal_XD, count, width_), pair = RowsIn(buffers->pair_X2D, count, 2 * width_);
  kernels::AccumulateColumns(dmixed_XD, normal, gradient.From(gain_offset_));
  kernels::AccumulateColumns(dmixed_XD, {}, gradient.From(bias_offset_));
  const Rows dsum = RowsIn(buffers->scratch_a, count, width_), dthought = RowsIn(buffers->scratch_b, count, width_),
             dgate = RowsIn(buffers->scratch_c, count, width_), dpair = RowsIn(buffers->scratch_d, count, 2 * width_),
             dattended = RowsIn(buffers->scratch_e, count, width_);
  kernels::LayerNormInputGradient(normal, Room(buffers->inverse_deviation_X, count), gain_.data(), dmixed_XD, dsum);
  const Rows& dbase = gradients.dbase_XD;
  kernels::MixRowsBackward(Elements(sets.base_XD), Elements(ConstRows(thought)), gate.data, Elements(ConstRows(dsum)),
                           Elements(dbase), Elements(dthought), dgate.data);
  kernels::Add(elements, dbase.data, dsum.data, dbase.data);
  for (int64_t i = 0; i < elements; ++i) dgate.data[i] *= gate.data[i] * (1.0f - gate.data[i]);
  gate_.Backward(pair, dgate, gradient, dpair, &buffers->gate);
  for (int64_t x = 0; x < count; ++x) {
    kernels::Add(width_, dbase[x], dpair[x], dbase[x]);
    kernels::Add(width_, dthought[x], dpair[x] + width_, dthought[x]);
  }
  output_.Backward(RowsIn(buffers->attended_XD, count, width_), dthought, gradient, dattended, &buffers->output);
  const Rows dq = RowsIn(buffers->scratch_a, count, width_), dk = RowsIn(buffers->scratch_b, thoughts, width_),
             dv = RowsIn(buffers->scratch_c, thoughts, width_);
  for (int64_t x = 0; x < count; ++x) {
    const int64_t first = sets.first_X[x];
    const kernels::Range range = {first, sets.first_X[static_cast<size_t>(x) + 1]};
    kernels::AttendFewBackward(KeysOf(sets, x, heads_, *buffers),
                               RowsIn(buffers->probability_YH, thoughts, heads_)[first], dattended[x],
                               {dq[x], dk.Slice(range), dv.Slice(range), gradients.dcoherence_Y + first});
  }
  const Rows of_query = RowsIn(buffers->scratch_d, count, width_);
  query_.Backward(sets.base_XD, dq, gradient, of_query, &buffers->query);
  kernels::Add(elements, dbase.data, of_query.data, dbase.data);
  kernels::GradientChains by_thought = gradient;
  by_thought.first_row = first_thought_row;
  const Rows of_value = RowsIn(buffers->scratch_e, thoughts, width_);
  key_.Backward(sets.thought_YD, dk, by_thought, gradients.dthought_YD, &buffers->key);
  value_.Backward(sets.thought_YD, dv, by_thought, of_value, &buffers->value);
  kernels::Add(thoughts * width_, gradients.dthought_YD.data, of_value.data, gradients.dthought_YD.data);
}

}  // namespace reprise::models
