#include "kernels/rows/layer_norm.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/layer_norm.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/lane_sum-inl.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

void LayerNormRows(const ConstRows& x_rows, const float* gain, const float* bias, float eps, const Rows& y_rows,
                   const Rows& normal_rows, float* inverse_deviation) {
  const FloatTag d;
  const int64_t n = x_rows.width;
  for (int64_t r = 0; r < x_rows.rows; ++r) {
    const float* const x = x_rows[r];
    float *const y = y_rows[r], *const normal = normal_rows[r];
    const float sum = SumInLanes(
        n, [x](Floats lane, int64_t i, int64_t left) HWY_ATTR { return hn::Add(lane, LoadPart(x + i, left, 0.0f)); });
    const Floats mean = hn::Set(d, sum / static_cast<float>(n));
    const float squares = SumInLanes(n, [x, mean](Floats lane, int64_t i, int64_t left) HWY_ATTR {
      const Floats centred = hn::Sub(LoadPart(x + i, left, 0.0f), mean);
      return hn::MulAdd(centred, centred, lane);
    });
    inverse_deviation[r] = 1.0f / std::sqrt(squares / static_cast<float>(n) + eps);
    const Floats scale = hn::Set(d, inverse_deviation[r]);
    for (int64_t i = 0; i < n; i += kWidth) {
      const int64_t left = n - i;
      const Floats v = hn::Mul(hn::Sub(LoadPart(x + i, left, 0.0f), mean), scale);
      StorePart(v, normal + i, left);
      StorePart(hn::MulAdd(v, LoadPart(gain + i, left, 0.0f), LoadPart(bias + i, left, 0.0f)), y + i, left);
    }
  }
}

void InputGradientRows(const ConstRows& normal_rows, const float* inverse_deviation, const float* gain,
                       const ConstRows& dy_rows, const Rows& dx_rows) {
  const FloatTag d;
  const int64_t n = dy_rows.width;
  for (int64_t r = 0; r < dy_rows.rows; ++r) {
    const float *const normal = normal_rows[r], *const dy = dy_rows[r];
    float* const dx = dx_rows[r];
    const auto scaled = [dy, gain](int64_t i, int64_t left)
                            HWY_ATTR { return hn::Mul(LoadPart(dy + i, left, 0.0f), LoadPart(gain + i, left, 0.0f)); };
    const float sum =
        SumInLanes(n, [&](Floats lane, int64_t i, int64_t left) HWY_ATTR { return hn::Add(lane, scaled(i, left)); });
    const float product = SumInLanes(n, [&](Floats lane, int64_t i, int64_t left) HWY_ATTR {
      return hn::MulAdd(scaled(i, left), LoadPart(normal + i, left, 0.0f), lane);
    });
    const Floats a = hn::Set(d, sum / static_cast<float>(n)), b = hn::Set(d, product / static_cast<float>(n));
    const Floats scale = hn::Set(d, inverse_deviation[r]);
    for (int64_t i = 0; i < n; i += kWidth) {
      const Floats centred = hn::Sub(scaled(i, n - i), a);
      StorePart(hn::Mul(hn::NegMulAdd(b, LoadPart(normal + i, n - i, 0.0f), centred), scale), dx + i, n - i);
    }
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(LayerNormRows);
HWY_EXPORT(InputGradientRows);

void LayerNorm(const ConstRows& x, const float* gain, const float* bias, float eps, const Rows& y, const Rows& normal,
               float* inverse_deviation) {
  if (x.width == 0) return;
  HWY_DYNAMIC_DISPATCH(LayerNormRows)(x, gain, bias, eps, y, normal, inverse_deviation);
}

void LayerNormInputGradient(const ConstRows& normal, const float* inverse_deviation, const float* gain,
                            const ConstRows& dy, const Rows& dx) {
  if (dy.width == 0) return;
  HWY_DYNAMIC_DISPATCH(InputGradientRows)(normal, inverse_deviation, gain, dy, dx);
}

}  // namespace reprise::kernels
#endif
