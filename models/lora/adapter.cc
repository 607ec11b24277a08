#include "models/lora/adapter.h"

#include "core/tensor/room.h"
#include "core/tensor/tensor.h"
#include "kernels/products/products.h"
#include "kernels/rows/elementwise.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::Range;
using kernels::Rows;

// Smaller parts are not worth having another thread read the other operand.
constexpr int64_t kLeastRows = 16, kLeastOutputs = 32, kLeastRanks = 8;

kernels::Rows RowsIn(Tensor& room, int64_t rows, int64_t width) { return {Room(room, rows * width), rows, width}; }

void Scale(float factor, const Rows& rows) {
  for (int64_t i = 0; i < rows.rows * rows.width; ++i) rows.data[i] *= factor;  // dense
}

void AddRows(const ConstRows& from, const Rows& to) {
  for (int64_t row = 0; row < to.rows; ++row) kernels::Add(to.width, to[row], from[row], to[row]);
}

// Returns x, or x after dropout in `room`.
ConstRows Dropped(const Adapter& adapter, const ConstRows& x, const RowSeeds& seeds, Tensor& room) {
  if (!adapter.dropout.IsOn(seeds)) return x;
  const Rows dropped = RowsIn(room, x.rows, x.width);
  ApplyDropout(adapter.dropout, seeds, x, dropped);
  return dropped;
}

// u = scale * (xd A^T).
void Reduce(const Adapter& adapter, const ConstRows& dropped, const Rows& u) {
  kernels::Product(dropped, adapter.a, u);
  Scale(adapter.scale, u);
}

}  // namespace

int64_t PackedAdapterFloats(const Adapter& adapter) {
  return kernels::PackedSize(adapter.rank, adapter.in) + kernels::PackedSize(adapter.in, adapter.rank) +
         kernels::PackedSize(adapter.out, adapter.rank) + kernels::PackedSize(adapter.rank, adapter.out);
}

void PackAdapter(const float* a, const float* b, float* packed, Adapter* adapter) {
  const int64_t rank = adapter->rank, in = adapter->in, out = adapter->out;
  const auto place = [&](int64_t outputs, int64_t contraction) {
    float* const at = packed;
    packed += kernels::PackedSize(outputs, contraction);
    return at;
  };
  float* const a_forward = place(rank, in);
  float* const a_transposed = place(in, rank);
  float* const b_forward = place(out, rank);
  float* const b_transposed = place(rank, out);
  kernels::PackForward(a, rank, in, a_forward, 0, kernels::Panels(rank));
  kernels::PackTransposed(a, rank, in, a_transposed, 0, kernels::Panels(in));
  kernels::PackForward(b, out, rank, b_forward, 0, kernels::Panels(out));
  kernels::PackTransposed(b, out, rank, b_transposed, 0, kernels::Panels(rank));
  adapter->a = a_forward;
  adapter->a_transposed = a_transposed;
  adapter->b = b_forward;
  adapter->b_transposed = b_transposed;
}

void AddAdapter(const Adapter& adapter, const ConstRows& x, const RowSeeds& seeds, const Rows& y,
                const Range& columns) {
  if (!adapter.exists() || x.rows == 0 || columns.size() <= 0) return;
  thread_local Tensor dropped_room, u_room, z_room;
  const Rows u = RowsIn(u_room, x.rows, adapter.rank), z = RowsIn(z_room, x.rows, adapter.out);
  Reduce(adapter, Dropped(adapter, x, seeds, dropped_room), u);
  kernels::Product(u, adapter.b, z, {columns.begin / kernels::kPanel, kernels::Panels(columns.end)});
  AddRows(z.Columns(columns.begin, columns.size()), y.Columns(columns.begin, columns.size()));
}

void AdapterBackward(const Adapter& adapter, const ConstRows& x, const RowSeeds& seeds, const ConstRows& dy,
                     const AdapterGradient& gradient, const Rows& dx, const Team& team) {
  if (!adapter.exists()) return;
  thread_local Tensor dropped_room, u_room, du_room, z_room;
  // Pointers of this thread's memory: the team's other threads have their own.
  const bool drops = adapter.dropout.IsOn(seeds);
  const Rows dropped = drops ? RowsIn(dropped_room, x.rows, x.width) : Rows();
  const ConstRows input = drops ? ConstRows(dropped) : x;
  const Rows u = RowsIn(u_room, x.rows, adapter.rank), du = RowsIn(du_room, x.rows, adapter.rank);
  const Rows z = RowsIn(z_room, x.rows, adapter.in);
  team.ForRanges(x.rows, kLeastRows, [&](int64_t begin, int64_t end) {
    const Range rows = {begin, end};
    if (drops) ApplyDropout(adapter.dropout, seeds.From(begin), x.Slice(rows), dropped.Slice(rows));
    Reduce(adapter, input.Slice(rows), u.Slice(rows));
    kernels::Product(dy.Slice(rows), adapter.b_transposed, du.Slice(rows));
    Scale(adapter.scale, du.Slice(rows));
    kernels::Product(du.Slice(rows), adapter.a_transposed, z.Slice(rows));
    if (drops) ApplyDropout(adapter.dropout, seeds.From(begin), z.Slice(rows), z.Slice(rows));
    AddRows(z.Slice(rows), dx.Slice(rows));
  });
  team.ForRanges(adapter.out, kLeastOutputs, [&](int64_t begin, int64_t end) {
    kernels::AccumulateWeightGradient(dy.Columns(begin, end - begin), u, gradient.b.From(begin * adapter.rank));
  });
  team.ForRanges(adapter.rank, kLeastRanks, [&](int64_t begin, int64_t end) {
    kernels::AccumulateWeightGradient(du.Columns(begin, end - begin), input, gradient.a.From(begin * adapter.in));
  });
}

void MergeAdapter(const float* a, const float* b, int64_t rank, float scale, const Rows& w) {
  Tensor packed("", DType::kF32, {kernels::PackedSize(w.width, rank)}), product("", DType::kF32, {w.rows * w.width});
  float* const a_transposed = packed.mutable_data<float>().data();
  kernels::PackTransposed(a, rank, w.width, a_transposed, 0, kernels::Panels(w.width));
  const Rows z = {product.mutable_data<float>().data(), w.rows, w.width};
  kernels::Product(ConstRows{b, w.rows, rank}, a_transposed, z);
  Scale(scale, z);
  AddRows(z, w);
}

}  // namespace reprise::models
