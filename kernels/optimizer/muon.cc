#include "kernels/optimizer/muon.h"

#include "core/tensor/bounds.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimizer/muon.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/parts-inl.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

void FilterArrays(int64_t n, const GrokfastFilter& filter, const float* gradient, float* mean, float* filtered) {
  const FloatTag d;
  const Floats scale = hn::Set(d, filter.gradient_scale), alpha = hn::Set(d, filter.alpha);
  const Floats rest = hn::Set(d, filter.one_minus_alpha), lambda = hn::Set(d, filter.lambda);
  const bool starts = filter.starts, amplifies_fast = filter.amplifies_fast;
  ForEachPart(n, [=](int64_t i, int64_t left) HWY_ATTR {
    const Floats g = hn::Mul(LoadPart(gradient + i, left, 0.0f), scale);
    const Floats m = starts ? g : hn::MulAdd(rest, g, hn::Mul(alpha, LoadPart(mean + i, left, 0.0f)));
    StorePart(m, mean + i, left);
    StorePart(hn::MulAdd(lambda, amplifies_fast ? hn::Sub(g, m) : m, g), filtered + i, left);
  });
}

void AddMomentumOf(int64_t n, float momentum, bool nesterov, const float* gradient, float* buffer, float* direction) {
  const Floats beta = hn::Set(FloatTag(), momentum);
  ForEachPart(n, [=](int64_t i, int64_t left) HWY_ATTR {
    const Floats g = LoadPart(gradient + i, left, 0.0f);
    const Floats b = hn::MulAdd(beta, LoadPart(buffer + i, left, 0.0f), g);
    StorePart(b, buffer + i, left);
    StorePart(nesterov ? hn::MulAdd(beta, b, g) : b, direction + i, left);
  });
}

void CombineArrays(int64_t n, float a, const float* x, float b, float* y) {
  const Floats of_x = hn::Set(FloatTag(), a), of_y = hn::Set(FloatTag(), b);
  ForEachPart(n, [=](int64_t i, int64_t left) HWY_ATTR {
    const Floats kept = hn::Mul(of_y, LoadPart(y + i, left, 0.0f));
    StorePart(hn::MulAdd(of_x, LoadPart(x + i, left, 0.0f), kept), y + i, left);
  });
}

bool TakeStepOf(int64_t n, float step_size, float decay, const float* direction, float* w) {
  const FloatTag d;
  const Floats step = hn::Set(d, step_size), kept = hn::Set(d, decay);
  const Floats most = hn::Set(d, static_cast<float>(kLargestMagnitude));
  bool is_sound = true;
  ForEachPart(n, [&](int64_t i, int64_t left) HWY_ATTR {
    const Floats decayed = hn::Mul(LoadPart(w + i, left, 0.0f), kept);
    const Floats moved = hn::NegMulAdd(step, LoadPart(direction + i, left, 0.0f), decayed);
    StorePart(moved, w + i, left);
    // Lanes behind the end are 0. Comparisons with NaN are false.
    is_sound &= hn::AllTrue(d, hn::Le(hn::Abs(moved), most));
  });
  return is_sound;
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(FilterArrays);
HWY_EXPORT(AddMomentumOf);
HWY_EXPORT(CombineArrays);
HWY_EXPORT(TakeStepOf);

GrokfastFilter MakeGrokfastFilter(double alpha, double lambda, bool starts_at_gradient, bool amplifies_fast, int64_t t,
                                  double gradient_scale) {
  return {.gradient_scale = static_cast<float>(gradient_scale),
          .alpha = static_cast<float>(alpha),
          .one_minus_alpha = static_cast<float>(1.0 - alpha),
          .lambda = static_cast<float>(lambda),
          .starts = starts_at_gradient && t == 1,
          .amplifies_fast = amplifies_fast};
}

void FilterGradient(int64_t n, const GrokfastFilter& filter, const float* gradient, float* mean, float* filtered) {
  HWY_DYNAMIC_DISPATCH(FilterArrays)(n, filter, gradient, mean, filtered);
}

void AddMomentum(int64_t n, float momentum, bool nesterov, const float* g, float* buffer, float* direction) {
  HWY_DYNAMIC_DISPATCH(AddMomentumOf)(n, momentum, nesterov, g, buffer, direction);
}

void Combine(int64_t n, float a, const float* x, float b, float* y) {
  HWY_DYNAMIC_DISPATCH(CombineArrays)(n, a, x, b, y);
}

bool TakeStep(int64_t n, float step_size, float decay, const float* direction, float* w) {
  return HWY_DYNAMIC_DISPATCH(TakeStepOf)(n, step_size, decay, direction, w);
}

}  // namespace reprise::kernels
#endif
