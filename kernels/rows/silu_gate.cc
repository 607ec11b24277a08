#include "kernels/rows/silu_gate.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/silu_gate.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"
#include "kernels/math/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// Views are parameters by value: a vector's store may alias any object, and would make the loops load a view's members
// again for each row.

void SiluGateRows(ConstRows gate_rows, ConstRows up_rows, Rows y_rows) {
  const Floats one = hn::Set(FloatTag(), 1.0f);
  const int64_t n = gate_rows.width;
  for (int64_t r = 0; r < gate_rows.rows; ++r) {
    const float *const gate = gate_rows[r], *const up = up_rows[r];
    const float *const next_gate = gate_rows[r + 1], *const next_up = up_rows[r + 1];
    float* const y = y_rows[r];
    const auto part = [&](int64_t i, int64_t left) HWY_ATTR {
      // Prefetches the next row: the hardware prefetcher stops at a row's end, and the exponential leaves it no time.
      __builtin_prefetch(next_gate + i);
      __builtin_prefetch(next_up + i);
      const Floats g = LoadPart(gate + i, left, 0.0f);
      const Floats silu = hn::Div(g, hn::Add(one, ExpOf(hn::Neg(g))));
      StorePart(hn::Mul(silu, LoadPart(up + i, left, 0.0f)), y + i, left);
    };
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) part(i, kWidth);
    if (i < n) part(i, n - i);
  }
}

void SiluGateBackwardRows(ConstRows gate_rows, ConstRows up_rows, ConstRows dy_rows, Rows dgate_rows, Rows dup_rows) {
  const Floats one = hn::Set(FloatTag(), 1.0f);
  const int64_t n = gate_rows.width;
  for (int64_t r = 0; r < gate_rows.rows; ++r) {
    const float *const gate = gate_rows[r], *const up = up_rows[r], *const dy = dy_rows[r];
    float *const dgate = dgate_rows[r], *const dup = dup_rows[r];
    const auto part = [&](int64_t i, int64_t left) HWY_ATTR {
      const Floats g = LoadPart(gate + i, left, 0.0f);
      const Floats u = LoadPart(up + i, left, 0.0f);
      const Floats dv = LoadPart(dy + i, left, 0.0f);
      const Floats s = SigmoidOf(g);
      const Floats slope = hn::Mul(s, hn::MulAdd(g, hn::Sub(one, s), one));
      StorePart(hn::Mul(dv, hn::Mul(g, s)), dup + i, left);
      StorePart(hn::Mul(hn::Mul(dv, u), slope), dgate + i, left);
    };
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) part(i, kWidth);
    if (i < n) part(i, n - i);
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(SiluGateRows);
HWY_EXPORT(SiluGateBackwardRows);

void SiluGate(const ConstRows& gate, const ConstRows& up, const Rows& y) {
  HWY_DYNAMIC_DISPATCH(SiluGateRows)(gate, up, y);
}

void SiluGateBackward(const ConstRows& gate, const ConstRows& up, const ConstRows& dy, const Rows& dgate,
                      const Rows& dup) {
  HWY_DYNAMIC_DISPATCH(SiluGateBackwardRows)(gate, up, dy, dgate, dup);
}

}  // namespace reprise::kernels
#endif
