#include <algorithm>

#include "core/tensor/room.h"
#include "kernels/attention/attention.h"
#include "kernels/math/scalar_math.h"
#include "models/morphogenesis/networks/autograd_node.h"
#include "models/morphogenesis/networks/token_ops.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::HeadContext;
using kernels::HeadKeys;
using kernels::Rows;

struct AttentionShape {
  int64_t batch = 0, length = 0, width = 0, heads = 0;

  int64_t head_width() const { return width / heads; }
  float scale() const { return static_cast<float>(1.0 / kernels::Sqrt(static_cast<double>(head_width()))); }
};

struct AttentionRooms {
  Tensor keys, values, scratch;
};

AttentionRooms& RoomsOfThread() {
  thread_local AttentionRooms rooms;
  return rooms;
}

enum Part { kQuery = 0, kKey = 1, kValue = 2 };

// One head's columns of one sequence.
template <typename View>
View HeadOf(const AttentionShape& s, const View& qkv, Part part, int64_t sequence, int64_t head) {
  return qkv.Slice({sequence * s.length, (sequence + 1) * s.length})
      .Columns(part * s.width + head * s.head_width(), s.head_width());
}

const float* Panels(const AttentionShape& s, const ConstRows& rows, Tensor* room) {
  float* const panels = Room(*room, kernels::KeyPanelFloats(s.length, s.head_width()));
  kernels::PackKeys(0, rows, panels);
  return panels;
}

template <typename Visit>
void ForHeads(const AttentionShape& s, const Visit& visit) {
  for (int64_t sequence = 0; sequence < s.batch; ++sequence) {
    for (int64_t head = 0; head < s.heads; ++head) visit(sequence, head);
  }
}

void Forward(const AttentionShape& s, const ConstRows& qkv, const Rows& out, float* statistics) {
  float* const scratch =
      Room(RoomsOfThread().scratch, kernels::AttentionScratch(s.length, 0, s.length, s.head_width()));
  ForHeads(s, [&](int64_t sequence, int64_t head) {
    HeadContext context;
    context.own.v = HeadOf(s, qkv, kValue, sequence, head);
    context.own.k_panels = Panels(s, HeadOf(s, qkv, kKey, sequence, head), &RoomsOfThread().keys);
    context.scale = s.scale();
    kernels::AttentionForward(HeadOf(s, qkv, kQuery, sequence, head), 0, context,
                              HeadOf(s, out, kQuery, sequence, head),
                              statistics + (sequence * s.heads + head) * s.length * 2, scratch);
  });
}

void Backward(const AttentionShape& s, const ConstRows& qkv, const float* statistics, const ConstRows& dout,
              const Rows& dqkv) {
  float* const scratch = Room(RoomsOfThread().scratch, kernels::AttentionBackwardScratch(s.length, 0, s.head_width()));
  ForHeads(s, [&](int64_t sequence, int64_t head) {
    HeadContext context;
    context.own.v = HeadOf(s, qkv, kValue, sequence, head);
    context.own.k = HeadOf(s, qkv, kKey, sequence, head);
    context.own.k_panels = Panels(s, context.own.k, &RoomsOfThread().keys);
    context.own.v_panels = Panels(s, context.own.v, &RoomsOfThread().values);
    context.scale = s.scale();
    kernels::AttentionBackward(
        HeadOf(s, qkv, kQuery, sequence, head), context, statistics + (sequence * s.heads + head) * s.length * 2,
        HeadOf(s, dout, kQuery, sequence, head), HeadOf(s, dqkv, kQuery, sequence, head),
        {HeadOf(s, dqkv, kKey, sequence, head), HeadOf(s, dqkv, kValue, sequence, head)}, {}, scratch);
  });
}

}  // namespace

at::Tensor CausalAttention(const at::Tensor& qkv_BTC3, int64_t heads) {
  const AttentionShape shape = {qkv_BTC3.size(0), qkv_BTC3.size(1), qkv_BTC3.size(2) / 3, heads};
  at::Tensor out = NewFloats({shape.batch, shape.length, shape.width});
  at::Tensor statistics = NewFloats({shape.batch * heads, shape.length, 2});
  Forward(shape, RowsOf(qkv_BTC3), MutableRowsOf(out), MutableData(statistics));
  return Differentiable({qkv_BTC3}, out,
                        [shape, statistics, qkv = qkv_BTC3.detach()](const at::Tensor& dy, const auto&) {
                          at::Tensor dqkv = NewZerosLike(qkv);
                          Backward(shape, RowsOf(qkv), Data(statistics), RowsOf(dy), MutableRowsOf(dqkv));
                          return Tensors{dqkv};
                        });
}

}  // namespace reprise::models
