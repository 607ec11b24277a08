#include "kernels/rows/mean_rows.h"

#include <algorithm>

#include "core/status/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/mean_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// Adds one row after the other to y, which stays in the first-level cache: rows are read as they lie in memory.
void MeanRows(ConstRows x, float* y) {
  const int64_t n = x.width;
  std::fill_n(y, n, 0.0f);
  for (int64_t t = 0; t < x.rows; ++t) {
    const float* const row = x[t];
    const auto add = [=](int64_t i, int64_t left) HWY_ATTR {
      StorePart(hn::Add(LoadPart(y + i, left, 0.0f), LoadPart(row + i, left, 0.0f)), y + i, left);
    };
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) add(i, kWidth);
    if (i < n) add(i, n - i);
  }
  const Floats rows = hn::Set(FloatTag(), static_cast<float>(x.rows));
  for (int64_t i = 0; i < n; i += kWidth) StorePart(hn::Div(LoadPart(y + i, n - i, 0.0f), rows), y + i, n - i);
}

void MeanRowsBackward(const float* dy, Rows dx) {
  const int64_t n = dx.width;
  const Floats rows = hn::Set(FloatTag(), static_cast<float>(dx.rows));
  if (dx.rows == 0) return;
  for (int64_t i = 0; i < n; i += kWidth) {
    StorePart(hn::Div(LoadPart(dy + i, n - i, 0.0f), rows), dx[0] + i, n - i);
  }
  for (int64_t t = 1; t < dx.rows; ++t) std::copy_n(dx[0], n, dx[t]);
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(MeanRows);
HWY_EXPORT(MeanRowsBackward);

void MeanOfRows(const ConstRows& x, float* y) {
  CHECK(x.rows >= 1 && x.rows <= int64_t{1} << 24);
  HWY_DYNAMIC_DISPATCH(MeanRows)(x, y);
}

void MeanOfRowsBackward(const float* dy, const Rows& dx) { HWY_DYNAMIC_DISPATCH(MeanRowsBackward)(dy, dx); }

}  // namespace reprise::kernels
#endif
