#include "kernels/images/pooling.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/images/pooling.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/parts-inl.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// Places of windows, one for each lane, are floats in registers and bytes in memory.
using PlaceTag = hn::Rebind<uint8_t, FloatTag>;
using IntTag = hn::Rebind<int32_t, FloatTag>;

HWY_INLINE void StorePlaces(Floats places, uint8_t* p, int64_t left) {
  const PlaceTag d;
  alignas(16) uint8_t bytes[kWidth];
  hn::Store(hn::DemoteTo(d, hn::ConvertTo(IntTag(), places)), d, bytes);
  std::memcpy(p, bytes, static_cast<size_t>(std::min<int64_t>(left, kWidth)));
}

HWY_INLINE Floats LoadPlaces(const uint8_t* p, int64_t left) {
  const PlaceTag d;
  alignas(16) uint8_t bytes[kWidth] = {};
  std::memcpy(bytes, p, static_cast<size_t>(std::min<int64_t>(left, kWidth)));
  return hn::ConvertTo(FloatTag(), hn::PromoteTo(IntTag(), hn::Load(d, bytes)));
}

// Calls visit(first element of the window in x, first element of the window's output).
template <typename Visit>
HWY_INLINE void ForWindows(const ImageRows& shape, const Visit& visit) {
  const int64_t c = shape.channels;
  int64_t to = 0;
  for (int64_t image = 0; image < shape.images; ++image) {
    for (int64_t y = 0; y < shape.height / 2; ++y) {
      for (int64_t x = 0; x < shape.width / 2; ++x, to += c) {
        visit((image * shape.pixels() + 2 * y * shape.width + 2 * x) * c, to);
      }
    }
  }
}

HWY_INLINE int64_t OffsetOf(const ImageRows& shape, int place) {
  return (place / 2 * shape.width + place % 2) * shape.channels;
}

void PoolImages(const ImageRows& shape, const float* x, float* y, uint8_t* chosen) {
  const FloatTag d;
  ForWindows(shape, [&](int64_t from, int64_t to) HWY_ATTR {
    ForEachPart(shape.channels, [&](int64_t j, int64_t left) HWY_ATTR {
      Floats best = LoadPart(x + from + j, left, 0.0f), best_place = hn::Zero(d);
      REPRISE_UNROLL for (int place = 1; place < 4; ++place) {
        const Floats value = LoadPart(x + from + OffsetOf(shape, place) + j, left, 0.0f);
        // It is greater, or the first NaN.
        const auto is_better = hn::And(hn::Not(hn::Le(value, best)), hn::Eq(best, best));
        best = hn::IfThenElse(is_better, value, best);
        best_place = hn::IfThenElse(is_better, hn::Set(d, static_cast<float>(place)), best_place);
      }
      StorePart(best, y + to + j, left);
      StorePlaces(best_place, chosen + to + j, left);
    });
  });
}

void UnpoolImages(const ImageRows& shape, const float* dy, const uint8_t* chosen, float* dx) {
  const bool is_covered = shape.height % 2 == 0 && shape.width % 2 == 0;  // by windows
  if (!is_covered) std::fill_n(dx, shape.size(), 0.0f);
  ForWindows(shape, [&](int64_t from, int64_t to) HWY_ATTR {
    ForEachPart(shape.channels, [&](int64_t j, int64_t left) HWY_ATTR {
      const Floats value = LoadPart(dy + to + j, left, 0.0f), chosen_place = LoadPlaces(chosen + to + j, left);
      REPRISE_UNROLL for (int place = 0; place < 4; ++place) {
        const auto is_chosen = hn::Eq(chosen_place, hn::Set(FloatTag(), static_cast<float>(place)));
        StorePart(hn::IfThenElseZero(is_chosen, value), dx + from + OffsetOf(shape, place) + j, left);
      }
    });
  });
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(PoolImages);
HWY_EXPORT(UnpoolImages);

void MaxPool(const ImageRows& shape, const float* x, float* y, uint8_t* chosen) {
  HWY_DYNAMIC_DISPATCH(PoolImages)(shape, x, y, chosen);
}

void MaxPoolBackward(const ImageRows& shape, const float* dy, const uint8_t* chosen, float* dx) {
  HWY_DYNAMIC_DISPATCH(UnpoolImages)(shape, dy, chosen, dx);
}

}  // namespace reprise::kernels
#endif
