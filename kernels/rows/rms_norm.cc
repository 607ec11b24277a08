#include "kernels/rows/rms_norm.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/rms_norm.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/lane_sum-inl.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

HWY_INLINE float InverseRms(int64_t n, const float* HWY_RESTRICT x, float eps) {
  const float sum = SumInLanes(n, [x](Floats lane, int64_t i, int64_t left) HWY_ATTR {
    const Floats v = LoadPart(x + i, left, 0.0f);
    return hn::MulAdd(v, v, lane);
  });
  return 1.0f / std::sqrt(sum / static_cast<float>(n) + eps);
}

void RmsNormRows(int64_t rows, int64_t n, const float* x, int64_t ldx, const float* gain, float eps, float* y,
                 int64_t ldy, float* inverse_rms) {
  const FloatTag d;
  for (int64_t r = 0; r < rows; ++r, x += ldx, y += ldy) {
    const float inverse = InverseRms(n, x, eps);
    if (inverse_rms != nullptr) inverse_rms[r] = inverse;
    const Floats scale = hn::Set(d, inverse);
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, x + i), scale), hn::LoadU(d, gain + i)), d, y + i);
    }
    const Floats normal = hn::Mul(LoadPart(x + i, n - i, 0.0f), scale);
    StorePart(hn::Mul(normal, LoadPart(gain + i, n - i, 0.0f)), y + i, n - i);
  }
}

template <bool kAccumulate>
HWY_INLINE void InputGradientOfRow(int64_t n, const float* x, const float* gain, float inverse, const float* dy,
                                   float* dx) {
  const FloatTag d;
  const float c = SumInLanes(n, [x, gain, dy](Floats lane, int64_t i, int64_t left) HWY_ATTR {
    const Floats h = hn::Mul(LoadPart(dy + i, left, 0.0f), LoadPart(gain + i, left, 0.0f));
    return hn::MulAdd(h, LoadPart(x + i, left, 0.0f), lane);
  });
  const Floats k = hn::Set(d, c * inverse * inverse * inverse / static_cast<float>(n));
  const Floats scale = hn::Set(d, inverse);
  const auto gradient = [&](int64_t i, int64_t left) HWY_ATTR {
    const Floats h = hn::Mul(LoadPart(dy + i, left, 0.0f), LoadPart(gain + i, left, 0.0f));
    const Floats g = hn::NegMulAdd(k, LoadPart(x + i, left, 0.0f), hn::Mul(scale, h));
    StorePart(kAccumulate ? hn::Add(LoadPart(dx + i, left, 0.0f), g) : g, dx + i, left);
  };
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) gradient(i, kWidth);
  if (i < n) gradient(i, n - i);
}

void InputGradient(int64_t rows, int64_t n, const float* x, int64_t ldx, const float* gain, const float* inverse_rms,
                   const float* dy, int64_t lddy, bool accumulate, float* dx, int64_t lddx) {
  for (int64_t r = 0; r < rows; ++r, x += ldx, dy += lddy, dx += lddx) {
    if (accumulate) {
      InputGradientOfRow<true>(n, x, gain, inverse_rms[r], dy, dx);
    } else {
      InputGradientOfRow<false>(n, x, gain, inverse_rms[r], dy, dx);
    }
  }
}

// Continues the chains of the columns in `left` lanes of kLaneVectors vectors over `rows` rows of one segment. from:
// where the chains stand, null for 0; to: where they are put, `add` to what is there.
HWY_INLINE void ContinueGainChains(int64_t rows, int64_t left, const float* x, int64_t ldx, const float* inverse_rms,
                                   const float* dy, int64_t lddy, const float* from, float* to, bool add) {
  const FloatTag d;
  Floats chain[kLaneVectors];
  REPRISE_UNROLL for (int j = 0; j < kLaneVectors; ++j) {
    chain[j] = from == nullptr ? hn::Zero(d) : LoadPart(from + j * kWidth, left - j * kWidth, 0.0f);
  }
  const auto step = [&](int64_t r, int j, int64_t part) HWY_ATTR {
    const Floats normal = hn::Mul(LoadPart(x + r * ldx + j * kWidth, part, 0.0f), hn::Set(d, inverse_rms[r]));
    chain[j] = hn::MulAdd(LoadPart(dy + r * lddy + j * kWidth, part, 0.0f), normal, chain[j]);
  };
  if (left >= 64) {
    for (int64_t r = 0; r < rows; ++r) {
      REPRISE_UNROLL for (int j = 0; j < kLaneVectors; ++j) step(r, j, kWidth);
    }
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      REPRISE_UNROLL for (int j = 0; j < kLaneVectors; ++j) step(r, j, left - j * kWidth);
    }
  }
  REPRISE_UNROLL for (int j = 0; j < kLaneVectors; ++j) {
    const int64_t part = left - j * kWidth;
    StorePart(add ? hn::Add(LoadPart(to + j * kWidth, part, 0.0f), chain[j]) : chain[j], to + j * kWidth, part);
  }
}

void GainGradient(int64_t rows, int64_t n, const float* x, int64_t ldx, const float* inverse_rms, const float* dy,
                  int64_t lddy, int64_t first_row, bool last, float* total, float* open) {
  constexpr int64_t kSegmentRows = 512;  // part of the numeric contract, as for the products
  for (int64_t begin = 0; begin < n; begin += 64) {
    for (int64_t r = 0; r < rows;) {
      const int64_t row = first_row + r;  // within the shard
      const int64_t count = std::min(rows - r, kSegmentRows - row % kSegmentRows);
      const bool finished = (row + count) % kSegmentRows == 0 || (last && r + count == rows);
      const float* const from = row % kSegmentRows == 0 ? nullptr : open + begin;
      ContinueGainChains(count, std::min<int64_t>(n - begin, 64), x + r * ldx + begin, ldx, inverse_rms + r,
                         dy + r * lddy + begin, lddy, from, (finished ? total : open) + begin,
                         finished && row >= kSegmentRows);
      r += count;
    }
  }
  if (rows > 0 || !last) return;
  // No row closes the open segment: do it here.
  for (int64_t j = 0; j < n && first_row == 0; ++j) total[j] = 0.0f;
  for (int64_t j = 0; j < n && first_row % kSegmentRows != 0; ++j) {
    total[j] = first_row < kSegmentRows ? open[j] : total[j] + open[j];
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(RmsNormRows);
HWY_EXPORT(InputGradient);
HWY_EXPORT(GainGradient);

void RmsNorm(int64_t rows, int64_t n, const float* x, int64_t ldx, const float* gain, float eps, float* y, int64_t ldy,
             float* inverse_rms) {
  if (n == 0) return;
  HWY_DYNAMIC_DISPATCH(RmsNormRows)(rows, n, x, ldx, gain, eps, y, ldy, inverse_rms);
}

void RmsNormBackward(int64_t rows, int64_t n, const float* x, int64_t ldx, const float* gain, const float* inverse_rms,
                     const float* dy, int64_t lddy, bool accumulate, float* dx, int64_t lddx, int64_t first_row,
                     bool last, float* total_dgain, float* open_dgain) {
  // The gain first: dx may overwrite dy.
  HWY_DYNAMIC_DISPATCH(GainGradient)
  (rows, n, x, ldx, inverse_rms, dy, lddy, first_row, last, total_dgain, open_dgain);
  HWY_DYNAMIC_DISPATCH(InputGradient)(rows, n, x, ldx, gain, inverse_rms, dy, lddy, accumulate, dx, lddx);
}

}  // namespace reprise::kernels
#endif
