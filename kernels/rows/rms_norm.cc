#include "kernels/rows/rms_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

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

// By value: a vector's store may alias any object, and would make the loop load the views' members again for each row.
void RmsNormRows(ConstRows x_rows, const float* gain, float eps, Rows y_rows, float* inverse_rms) {
  const FloatTag d;
  const int64_t n = x_rows.width;
  for (int64_t r = 0; r < x_rows.rows; ++r) {
    const float* const x = x_rows[r];
    float* const y = y_rows[r];
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

// Continues the chains of the columns, at most 64, over rows of one segment. from: the chains' start values, null for
// 0; to: where the results are stored, or added if `add`.
HWY_INLINE void ContinueGainChains(const ConstRows& x, const float* inverse_rms, const ConstRows& dy, const float* from,
                                   float* to, bool add) {
  const int64_t rows = x.rows, left = x.width;
  const FloatTag d;
  Floats chain[kLaneVectors];
  REPRISE_UNROLL for (int j = 0; j < kLaneVectors; ++j) {
    chain[j] = from == nullptr ? hn::Zero(d) : LoadPart(from + j * kWidth, left - j * kWidth, 0.0f);
  }
  const auto step = [&](int64_t r, int j, int64_t part) HWY_ATTR {
    const Floats normal = hn::Mul(LoadPart(x[r] + j * kWidth, part, 0.0f), hn::Set(d, inverse_rms[r]));
    chain[j] = hn::MulAdd(LoadPart(dy[r] + j * kWidth, part, 0.0f), normal, chain[j]);
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

// The rows `tile` of the call, which lie in one segment. `carried` takes open chains from one tile to the next.
HWY_INLINE void GainGradientOfTile(const ConstRows& x, const float* inverse_rms, const ConstRows& dy,
                                   const GradientChains& dgain, const Range& tile, float* carried) {
  const int64_t row = dgain.first_row + tile.begin;  // within the shard
  const bool ends = tile.end == x.rows;
  const bool finished = (row + tile.size()) % kSegment == 0 || (ends && dgain.last);
  const float* const from = row % kSegment == 0 ? nullptr : tile.begin == 0 ? dgain.open : carried;
  float* const to = finished ? dgain.total : ends ? dgain.open : carried;
  for (int64_t j = 0; j < x.width; j += 64) {
    const int64_t columns = std::min<int64_t>(x.width - j, 64);
    ContinueGainChains(x.Slice(tile).Columns(j, columns), inverse_rms + tile.begin, dy.Slice(tile).Columns(j, columns),
                       from == nullptr ? nullptr : from + j, to + j, finished && row >= kSegment);
  }
}

void BackwardRows(const ConstRows& x, const float* gain, const float* inverse_rms, const ConstRows& dy, bool accumulate,
                  const Rows& dx, const GradientChains& dgain) {
  // Tiles stay in the second-level cache between the two gradients. The gain's comes first: dx may overwrite dy.
  constexpr int64_t kTileRows = 16;
  static_assert(kSegment % kTileRows == 0);
  std::vector<float> carried(static_cast<size_t>(x.width));
  for (Range tile; tile.begin < x.rows; tile.begin = tile.end) {
    tile.end = std::min(x.rows, tile.begin + kTileRows - (dgain.first_row + tile.begin) % kTileRows);
    if (dgain.total != nullptr) GainGradientOfTile(x, inverse_rms, dy, dgain, tile, carried.data());
    for (int64_t r = tile.begin; dx.data != nullptr && r < tile.end; ++r) {
      if (accumulate) {
        InputGradientOfRow<true>(x.width, x[r], gain, inverse_rms[r], dy[r], dx[r]);
      } else {
        InputGradientOfRow<false>(x.width, x[r], gain, inverse_rms[r], dy[r], dx[r]);
      }
    }
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(RmsNormRows);
HWY_EXPORT(BackwardRows);

void RmsNorm(const ConstRows& x, const float* gain, float eps, const Rows& y, float* inverse_rms) {
  if (x.width == 0) return;
  HWY_DYNAMIC_DISPATCH(RmsNormRows)(x, gain, eps, y, inverse_rms);
}

void RmsNormBackward(const ConstRows& x, const float* gain, const float* inverse_rms, const ConstRows& dy,
                     bool accumulate, const Rows& dx, const GradientChains& dgain) {
  if (x.rows == 0 && dgain.last && dgain.total != nullptr) dgain.Close(x.width);
  HWY_DYNAMIC_DISPATCH(BackwardRows)(x, gain, inverse_rms, dy, accumulate, dx, dgain);
}

}  // namespace reprise::kernels
#endif
