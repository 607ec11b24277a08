#include "kernels/rows/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/elementwise.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/parts-inl.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

void AddArrays(int64_t n, const float* a, const float* b, float* y) {
  ForEachPart(n, [=](int64_t i, int64_t left) HWY_ATTR {
    StorePart(hn::Add(LoadPart(a + i, left, 0.0f), LoadPart(b + i, left, 0.0f)), y + i, left);
  });
}

void ClampArray(int64_t n, float low, float high, float* x) {
  const Floats lowest = hn::Set(FloatTag(), low), highest = hn::Set(FloatTag(), high);
  ForEachPart(n, [=](int64_t i, int64_t left) HWY_ATTR {
    Floats v = LoadPart(x + i, left, 0.0f);
    v = hn::IfThenElse(hn::Lt(v, lowest), lowest, hn::IfThenElse(hn::Gt(v, highest), highest, v));
    StorePart(v, x + i, left);
  });
}

void ClampBackwardArray(int64_t n, float low, float high, const float* x_before, float* dy) {
  const Floats lowest = hn::Set(FloatTag(), low), highest = hn::Set(FloatTag(), high);
  ForEachPart(n, [=](int64_t i, int64_t left) HWY_ATTR {
    const Floats v = LoadPart(x_before + i, left, 0.0f);
    const auto inside = hn::And(hn::Ge(v, lowest), hn::Le(v, highest));
    StorePart(hn::IfThenElseZero(inside, LoadPart(dy + i, left, 0.0f)), dy + i, left);
  });
}

void ReluArray(int64_t n, float* x) {
  ForEachPart(n, [=](int64_t i, int64_t left) HWY_ATTR {
    const Floats v = LoadPart(x + i, left, 0.0f), zero = hn::Zero(FloatTag());
    StorePart(hn::IfThenElse(hn::Lt(v, zero), zero, v), x + i, left);
  });
}

void ReluBackwardArray(int64_t n, const float* y, float* dy) {
  ForEachPart(n, [=](int64_t i, int64_t left) HWY_ATTR {
    const auto passes = hn::Gt(LoadPart(y + i, left, 0.0f), hn::Zero(FloatTag()));
    StorePart(hn::IfThenElseZero(passes, LoadPart(dy + i, left, 0.0f)), dy + i, left);
  });
}

void TanhBackwardArray(int64_t n, const float* y, float* dy) {
  ForEachPart(n, [=](int64_t i, int64_t left) HWY_ATTR {
    const Floats v = LoadPart(y + i, left, 0.0f);
    const Floats slope = hn::NegMulAdd(v, v, hn::Set(FloatTag(), 1.0f));
    StorePart(hn::Mul(LoadPart(dy + i, left, 0.0f), slope), dy + i, left);
  });
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(AddArrays);
HWY_EXPORT(ClampArray);
HWY_EXPORT(ClampBackwardArray);
HWY_EXPORT(ReluArray);
HWY_EXPORT(ReluBackwardArray);
HWY_EXPORT(TanhBackwardArray);

void Add(int64_t n, const float* a, const float* b, float* y) { HWY_DYNAMIC_DISPATCH(AddArrays)(n, a, b, y); }

void Clamp(int64_t n, float low, float high, float* x) { HWY_DYNAMIC_DISPATCH(ClampArray)(n, low, high, x); }

void ClampBackward(int64_t n, float low, float high, const float* x_before, float* dy) {
  HWY_DYNAMIC_DISPATCH(ClampBackwardArray)(n, low, high, x_before, dy);
}

void Relu(int64_t n, float* x) { HWY_DYNAMIC_DISPATCH(ReluArray)(n, x); }

void ReluBackward(int64_t n, const float* y, float* dy) { HWY_DYNAMIC_DISPATCH(ReluBackwardArray)(n, y, dy); }

void TanhBackward(int64_t n, const float* y, float* dy) { HWY_DYNAMIC_DISPATCH(TanhBackwardArray)(n, y, dy); }

}  // namespace reprise::kernels
#endif
