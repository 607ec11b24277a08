#include "kernels/rows/mix_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/mix_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/lane_sum-inl.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

void Mix(const ConstRows& a_rows, const ConstRows& b_rows, const float* w, const Rows& y_rows) {
  const FloatTag d;
  const int64_t n = y_rows.width;
  for (int64_t r = 0; r < y_rows.rows; ++r) {
    const float *const a = a_rows[r], *const b = b_rows[r];
    float* const y = y_rows[r];
    const Floats weight = hn::Set(d, w[r]);
    for (int64_t i = 0; i < n; i += kWidth) {
      const Floats from = LoadPart(a + i, n - i, 0.0f);
      StorePart(hn::MulAdd(weight, hn::Sub(LoadPart(b + i, n - i, 0.0f), from), from), y + i, n - i);
    }
  }
}

void MixBackward(const ConstRows& a_rows, const ConstRows& b_rows, const float* w, const ConstRows& dy_rows,
                 const Rows& da_rows, const Rows& db_rows, float* dw) {
  const FloatTag d;
  const int64_t n = dy_rows.width;
  for (int64_t r = 0; r < dy_rows.rows; ++r) {
    const float *const a = a_rows[r], *const b = b_rows[r], *const dy = dy_rows[r];
    float *const da = da_rows[r], *const db = db_rows[r];
    dw[r] = SumInLanes(n, [a, b, dy](Floats lane, int64_t i, int64_t left) HWY_ATTR {
      const Floats difference = hn::Sub(LoadPart(b + i, left, 0.0f), LoadPart(a + i, left, 0.0f));
      return hn::MulAdd(LoadPart(dy + i, left, 0.0f), difference, lane);
    });
    const Floats weight = hn::Set(d, w[r]);
    for (int64_t i = 0; i < n; i += kWidth) {
      const Floats gradient = LoadPart(dy + i, n - i, 0.0f), part = hn::Mul(weight, gradient);
      StorePart(part, db + i, n - i);
      StorePart(hn::Sub(gradient, part), da + i, n - i);
    }
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(Mix);
HWY_EXPORT(MixBackward);

void MixRows(const ConstRows& a, const ConstRows& b, const float* w, const Rows& y) {
  HWY_DYNAMIC_DISPATCH(Mix)(a, b, w, y);
}

void MixRowsBackward(const ConstRows& a, const ConstRows& b, const float* w, const ConstRows& dy, const Rows& da,
                     const Rows& db, float* dw) {
  HWY_DYNAMIC_DISPATCH(MixBackward)(a, b, w, dy, da, db, dw);
}

}  // namespace reprise::kernels
#endif
