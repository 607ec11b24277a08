#include "models/heads/lstm.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/tensor/room.h"
#include "kernels/products/products.h"
#include "kernels/rows/column_chains.h"
#include "kernels/rows/elementwise.h"
#include "kernels/rows/layer_norm.h"
#include "kernels/rows/lstm_cell.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::GradientChains;
using kernels::Rows;

constexpr float kNormEpsilon = 1e-5f;  // as in PyTorch's LayerNorm

Rows RowsIn(Tensor& buffer, int64_t rows, int64_t width) { return {Room(buffer, rows * width), rows, width}; }

Rows RowsOf(Tensor& buffer, int64_t rows, int64_t width) { return {buffer.mutable_data<float>().data(), rows, width}; }

// A row of the batch, and its place in its sequence.
struct Place {
  int64_t row = 0, t = 0, length = 0;
};

// Returns the rows at place t of their sequences.
std::vector<Place> PlacesAt(absl::Span<const int64_t> length_S, int64_t t) {
  std::vector<Place> places;
  int64_t begin = 0;
  for (const int64_t length : length_S) {
    if (t < length) places.push_back({begin + t, t, length});
    begin += length;
  }
  return places;
}

int64_t Longest(absl::Span<const int64_t> length_S) {
  return length_S.empty() ? 0 : *std::max_element(length_S.begin(), length_S.end());
}

// Copies the rows `offset` behind the places.
ConstRows Gather(const ConstRows& from, const std::vector<Place>& places, int64_t offset, Tensor* buffer) {
  const Rows to = RowsIn(*buffer, static_cast<int64_t>(places.size()), from.width);
  for (int64_t i = 0; i < to.rows; ++i) {
    std::copy_n(from[places[i].row + offset], from.width, to[i]);
  }
  return to;
}

}  // namespace

int64_t LstmBuffers::bytes() const {
  int64_t bytes = 0;
  for (const Tensor* tensor : {&gates, &cell, &tanh_cell, &hidden, &normal, &inverse_deviation, &dgates, &dhidden,
                               &dcell, &before, &gathered, &product}) {
    bytes += static_cast<int64_t>(tensor->bytes().size());
  }
  return bytes;
}

Lstm::Weights Lstm::AppendWeights(int64_t inputs, const std::string& name, FlatLayout* layout) const {
  const int spec = layout->Append(name, {4 * width_, inputs}, ParameterKind::kMatrix);
  return {{spec, layout->specs[spec].offset, 4 * width_, inputs}, {}, {}};
}

Lstm::Vector Lstm::AppendVector(int64_t size, const std::string& name, FlatLayout* layout) {
  const int spec = layout->Append(name, {size}, ParameterKind::kVector);
  return {layout->specs[spec].offset, std::vector<float>(static_cast<size_t>(size))};
}

Lstm::Lstm(int64_t inputs, int64_t width, int64_t chunk, absl::string_view name, FlatLayout* layout)
    : width_(width), chunk_(chunk), zero_(static_cast<size_t>(std::max<int64_t>(width, 0)), 0.0f) {
  CHECK(inputs > 0 && width > 0 && chunk > 0);
  input_ = AppendWeights(inputs, absl::StrCat(name, ".input.weight"), layout);
  recurrent_ = AppendWeights(width, absl::StrCat(name, ".recurrent.weight"), layout);
  bias_ = AppendVector(4 * width, absl::StrCat(name, ".bias"), layout);
  norm_gain_ = AppendVector(width, absl::StrCat(name, ".norm.weight"), layout);
  norm_bias_ = AppendVector(width, absl::StrCat(name, ".norm.bias"), layout);
}

void Lstm::Initialize(uint64_t seed, InitialWeights kind, absl::Span<float> parameters) const {
  DrawInitialWeights(seed, kind, 1.0, input_.place, parameters);
  DrawInitialWeights(seed, kind, 1.0, recurrent_.place, parameters);
  float* const bias = parameters.data() + bias_.offset;
  std::fill_n(bias, 4 * width_, 0.0f);
  std::fill_n(bias + width_, width_, 1.0f);
  std::fill_n(parameters.data() + norm_gain_.offset, width_, 1.0f);
  std::fill_n(parameters.data() + norm_bias_.offset, width_, 0.0f);
}

void Lstm::Refresh(absl::Span<const float> parameters) {
  for (Weights* const weights : {&input_, &recurrent_}) {
    const int64_t n = weights->place.outputs, k = weights->place.inputs;
    const float* const from = parameters.data() + weights->place.offset;
    kernels::PackForward(from, n, k, Room(weights->packed, kernels::PackedSize(n, k)), 0, kernels::Panels(n));
    kernels::PackTransposed(from, n, k, Room(weights->transposed, kernels::PackedSize(k, n)), 0, kernels::Panels(k));
  }
  for (Vector* const vector : {&bias_, &norm_gain_, &norm_bias_}) {
    std::copy_n(parameters.data() + vector->offset, vector->values.size(), vector->values.data());
  }
}

void Lstm::Normalize(const ConstRows& h, const Rows& y, LstmBuffers* buffers) const {
  kernels::LayerNorm(h, norm_gain_.values.data(), norm_bias_.values.data(), kNormEpsilon, y,
                     RowsIn(buffers->normal, h.rows, width_), Room(buffers->inverse_deviation, h.rows));
}

void Lstm::Forward(const ConstRows& x, absl::Span<const int64_t> length_S, const Rows& y, LstmBuffers* buffers) const {
  const Rows gates = RowsIn(buffers->gates, x.rows, 4 * width_), cell = RowsIn(buffers->cell, x.rows, width_);
  const Rows tanh_cell = RowsIn(buffers->tanh_cell, x.rows, width_), hidden = RowsIn(buffers->hidden, x.rows, width_);
  kernels::Product(x, input_.packed.data<float>().data(), gates);
  for (int64_t r = 0; r < x.rows; ++r) kernels::Add(gates.width, gates[r], bias_.values.data(), gates[r]);
  for (int64_t t = 0; t < Longest(length_S); ++t) {
    const std::vector<Place> places = PlacesAt(length_S, t);
    const Rows recurrent = RowsIn(buffers->product, static_cast<int64_t>(places.size()), 4 * width_);
    if (t > 0) {
      kernels::Product(Gather(hidden, places, -1, &buffers->gathered), recurrent_.packed.data<float>().data(),
                       recurrent);
    }
    for (int64_t i = 0; i < recurrent.rows; ++i) {
      const int64_t r = places[i].row;
      if (t > 0) kernels::Add(gates.width, gates[r], recurrent[i], gates[r]);
      kernels::LstmCell(width_, gates[r], t == 0 ? zero_.data() : cell[r - 1], cell[r], tanh_cell[r], hidden[r]);
    }
  }
  Normalize(hidden, y, buffers);
}

void Lstm::Next(const ConstRows& x, LstmState* state, const Rows& y) const {
  LstmBuffers buffers;
  const Rows gates = RowsIn(buffers.gates, 1, 4 * width_);
  kernels::Product(x, input_.packed.data<float>().data(), gates);
  kernels::Add(gates.width, gates.data, bias_.values.data(), gates.data);
  if (state->hidden.empty()) {
    state->hidden = state->cell = zero_;
  } else {
    const Rows recurrent = RowsIn(buffers.product, 1, 4 * width_);
    kernels::Product({state->hidden.data(), 1, width_}, recurrent_.packed.data<float>().data(), recurrent);
    kernels::Add(gates.width, gates.data, recurrent.data, gates.data);
  }
  kernels::LstmCell(width_, gates.data, state->cell.data(), state->cell.data(), Room(buffers.tanh_cell, width_),
                    state->hidden.data());
  Normalize({state->hidden.data(), 1, width_}, y, &buffers);
}

void Lstm::BackwardThroughTime(absl::Span<const int64_t> length_S, const Rows& dgates, LstmBuffers* buffers) const {
  const Rows gates = RowsOf(buffers->gates, dgates.rows, 4 * width_), cell = RowsOf(buffers->cell, dgates.rows, width_);
  const Rows tanh_cell = RowsOf(buffers->tanh_cell, dgates.rows, width_);
  const Rows dhidden = RowsOf(buffers->dhidden, dgates.rows, width_);
  const Rows dcell = RowsIn(buffers->dcell, dgates.rows, width_);  // of a row: that of the cell before it
  for (int64_t t = Longest(length_S) - 1; t >= 0; --t) {
    const std::vector<Place> places = PlacesAt(length_S, t);
    std::vector<Place> followed;  // by a row of their chunk
    for (const Place& place : places) {
      if (t + 1 < place.length && (t + 1) % chunk_ != 0) followed.push_back(place);
    }
    const Rows back = RowsIn(buffers->product, static_cast<int64_t>(followed.size()), width_);
    kernels::Product(Gather(dgates, followed, 1, &buffers->gathered), recurrent_.transposed.data<float>().data(), back);
    for (int64_t i = 0; i < back.rows; ++i) {
      float* const dh = dhidden[followed[i].row];
      kernels::Add(width_, dh, back[i], dh);
    }
    auto next = followed.begin();
    for (const Place& place : places) {
      const int64_t r = place.row;
      const bool is_followed = next != followed.end() && next->row == r;
      if (is_followed) ++next;
      std::copy_n(is_followed ? dcell[r + 1] : zero_.data(), width_, dcell[r]);
      kernels::LstmCellBackward(width_, {gates[r], t == 0 ? zero_.data() : cell[r - 1], tanh_cell[r]}, dhidden[r],
                                dcell[r], dgates[r]);
    }
  }
}

void Lstm::Backward(const ConstRows& x, absl::Span<const int64_t> length_S, const ConstRows& dy,
                    const GradientChains& gradient, const Rows& dx, LstmBuffers* buffers) const {
  const Rows normal = RowsOf(buffers->normal, dy.rows, width_), hidden = RowsOf(buffers->hidden, dy.rows, width_);
  kernels::AccumulateColumns(dy, normal, gradient.From(norm_gain_.offset));
  kernels::AccumulateColumns(dy, {}, gradient.From(norm_bias_.offset));
  kernels::LayerNormInputGradient(normal, buffers->inverse_deviation.data<float>().data(), norm_gain_.values.data(), dy,
                                  RowsIn(buffers->dhidden, dy.rows, width_));
  const Rows dgates = RowsIn(buffers->dgates, dy.rows, 4 * width_);
  BackwardThroughTime(length_S, dgates, buffers);
  const Rows before = RowsIn(buffers->before, dy.rows, width_);  // the hidden state before each row
  int64_t begin = 0;
  for (const int64_t length : length_S) {
    for (int64_t t = 0; t < length; ++t) {
      std::copy_n(t == 0 ? zero_.data() : hidden[begin + t - 1], width_, before[begin + t]);
    }
    begin += length;
  }
  kernels::AccumulateWeightGradient(dgates, x, gradient.From(input_.place.offset));
  kernels::AccumulateWeightGradient(dgates, before, gradient.From(recurrent_.place.offset));
  kernels::AccumulateColumns(dgates, {}, gradient.From(bias_.offset));
  if (dx.data != nullptr) kernels::Product(dgates, input_.transposed.data<float>().data(), dx);
}

}  // namespace reprise::models
