// Weighted sums of rows of values (forward: probabilities and v; backward: ds and k): chains over ascending keys,
// restarted every 512 absolute keys. Rows of a block share the loaded values; the ragged causal edge is finished row by
// row, since even a zero weight could turn -0 into +0.
//
// Toggle guard: the file is compiled once for each target.
#if defined(KERNELS_ATTENTION_VALUE_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_ATTENTION_VALUE_TILES_INL_H_
#undef KERNELS_ATTENTION_VALUE_TILES_INL_H_
#else
#define KERNELS_ATTENTION_VALUE_TILES_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/attention/geometry.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// Rows [count, width] of the prefix followed by the own rows.
struct ValueRows {
  ValueRows(const ConstRows& prefix_rows, const ConstRows& own_rows)
      : prefix_count(prefix_rows.rows),
        prefix(prefix_rows.data),
        prefix_stride(prefix_rows.stride),
        own(own_rows.data),
        own_stride(own_rows.stride) {}

  int64_t prefix_count;
  const float* prefix;
  int64_t prefix_stride;
  const float* own;
  int64_t own_stride;

  ValueRows FromColumn(int64_t c) const {
    ValueRows rows = *this;
    if (prefix_count > 0) rows.prefix += c;
    rows.own += c;
    return rows;
  }
};

// Loads a vector at p, or its first `left` elements if kPart.
template <bool kPart>
HWY_INLINE Floats LoadColumns(const float* p, int64_t left) {
  const FloatTag d;
  if constexpr (kPart) return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(left)), d, p);
  return hn::LoadU(d, p);
}

template <bool kPart>
HWY_INLINE void StoreColumns(Floats x, float* p, int64_t left) {
  const FloatTag d;
  if constexpr (kPart) {
    hn::BlendedStore(x, hn::FirstN(d, static_cast<size_t>(left)), d, p);
  } else {
    hn::StoreU(x, d, p);
  }
}

// sums[r][v] continues over `count` rows of values.
template <int kRows, int kVectors, bool kPart>
HWY_INLINE void ContinueChains(int64_t count, const float* HWY_RESTRICT weights, int64_t ldw,
                               const float* HWY_RESTRICT values, int64_t stride, int64_t left, Floats* sums) {
  const FloatTag d;
  for (int64_t j = 0; j < count; ++j) {
    Floats x[kVectors];
    REPRISE_UNROLL for (int v = 0; v < kVectors; ++v) {
      x[v] = LoadColumns<kPart>(values + j * stride + v * kWidth, left);
    }
    REPRISE_UNROLL for (int r = 0; r < kRows; ++r) {
      const Floats w = hn::Set(d, weights[r * ldw + j]);
      REPRISE_UNROLL for (int v = 0; v < kVectors; ++v) {
        sums[r * kVectors + v] = hn::MulAdd(w, x[v], sums[r * kVectors + v]);
      }
    }
  }
}

// out[r] = factor[r] * sum over keys j < seen + r of weights[r][j] values[j]: row r sees r keys more than row 0. With
// several rows, the keys that only some rows see must be in the segment of key seen - 1.
template <int kRows, int kVectors, bool kPart>
HWY_NOINLINE void ValueTile(int64_t seen, const float* HWY_RESTRICT weights, int64_t ldw, const ValueRows rows,
                            int64_t left, const float* HWY_RESTRICT factor, float* HWY_RESTRICT out, int64_t ldout) {
  const FloatTag d;
  Floats sums[kRows * kVectors];
  for (int64_t begin = 0;;) {
    REPRISE_UNROLL for (int i = 0; i < kRows * kVectors; ++i) sums[i] = hn::Zero(d);
    const int64_t end = std::min(seen, begin + kSegment);
    const int64_t border = std::clamp(rows.prefix_count, begin, end);
    const float* prefix = rows.prefix + std::min(begin, rows.prefix_count) * rows.prefix_stride;
    const float* own = rows.own + std::max<int64_t>(0, border - rows.prefix_count) * rows.own_stride;
    ContinueChains<kRows, kVectors, kPart>(border - begin, weights + begin, ldw, prefix, rows.prefix_stride, left,
                                           sums);
    ContinueChains<kRows, kVectors, kPart>(end - border, weights + border, ldw, own, rows.own_stride, left, sums);
    if (end == seen) break;
    REPRISE_UNROLL for (int r = 0; r < kRows; ++r) {  // adds the finished segment to the total
      REPRISE_UNROLL for (int v = 0; v < kVectors; ++v) {
        float* total = out + r * ldout + v * kWidth;
        Floats sum = sums[r * kVectors + v];
        if (begin > 0) sum = hn::Add(LoadColumns<kPart>(total, left), sum);
        StoreColumns<kPart>(sum, total, left);
      }
    }
    begin = end;
  }
  REPRISE_UNROLL for (int t = 1; t < kRows; ++t) {  // key seen - 1 + t is the last of row t
    const int64_t j = seen - 1 + t;
    Floats x[kVectors];
    REPRISE_UNROLL for (int v = 0; v < kVectors; ++v) {
      x[v] = LoadColumns<kPart>(rows.own + (j - rows.prefix_count) * rows.own_stride + v * kWidth, left);
    }
    REPRISE_UNROLL for (int r = t; r < kRows; ++r) {
      const Floats w = hn::Set(d, weights[r * ldw + j]);
      REPRISE_UNROLL for (int v = 0; v < kVectors; ++v) {
        sums[r * kVectors + v] = hn::MulAdd(w, x[v], sums[r * kVectors + v]);
      }
    }
  }
  REPRISE_UNROLL for (int r = 0; r < kRows; ++r) {
    REPRISE_UNROLL for (int v = 0; v < kVectors; ++v) {
      float* to = out + r * ldout + v * kWidth;
      Floats sum = sums[r * kVectors + v];
      if (seen > kSegment) sum = hn::Add(LoadColumns<kPart>(to, left), sum);
      if (factor != nullptr) sum = hn::Mul(sum, hn::Set(d, factor[r]));
      StoreColumns<kPart>(sum, to, left);
    }
  }
}

template <int kRows>
HWY_INLINE void ValueColumns(int64_t seen, int64_t width, const float* weights, int64_t ldw, const ValueRows& rows,
                             const float* factor, float* out, int64_t ldout) {
  constexpr int kMost = kRows * 4 <= kWidth ? 4 : 2;  // kWidth sums take half of the registers
  int64_t c = 0;
  if constexpr (kMost >= 4) {
    for (; c + 4 * kWidth <= width; c += 4 * kWidth) {
      ValueTile<kRows, 4, false>(seen, weights, ldw, rows.FromColumn(c), 0, factor, out + c, ldout);
    }
  }
  for (; c + 2 * kWidth <= width; c += 2 * kWidth) {
    ValueTile<kRows, 2, false>(seen, weights, ldw, rows.FromColumn(c), 0, factor, out + c, ldout);
  }
  for (; c + kWidth <= width; c += kWidth) {
    ValueTile<kRows, 1, false>(seen, weights, ldw, rows.FromColumn(c), 0, factor, out + c, ldout);
  }
  if (c < width) {
    ValueTile<kRows, 1, true>(seen, weights, ldw, rows.FromColumn(c), width - c, factor, out + c, ldout);
  }
}

// As ValueTile, for all columns and any position of the segments. factor may be null for none.
template <int kRows>
HWY_INLINE void WeightedSums(int64_t seen, int64_t width, const float* weights, int64_t ldw, const ValueRows& rows,
                             const float* factor, float* out, int64_t ldout) {
  if (kRows == 1 || (seen - 1) / kSegment == (seen + kRows - 2) / kSegment) {
    ValueColumns<kRows>(seen, width, weights, ldw, rows, factor, out, ldout);
    return;
  }
  for (int r = 0; r < kRows; ++r) {
    ValueColumns<1>(seen + r, width, weights + r * ldw, ldw, rows, factor == nullptr ? nullptr : factor + r,
                    out + r * ldout, ldout);
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle guard
