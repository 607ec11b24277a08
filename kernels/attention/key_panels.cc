#include <algorithm>

#include "kernels/attention/attention.h"
#include "kernels/attention/geometry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/key_panels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

using EightTag = hn::FixedTag<float, 8>;
using Eight = hn::Vec<EightTag>;

// The 64-bit halves of a's and b's 128-bit blocks, paired: the lower halves or the upper ones.
HWY_INLINE Eight LowerPairs(Eight a, Eight b) {
  const hn::FixedTag<double, 4> pairs;
  return hn::BitCast(EightTag(), hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
}
HWY_INLINE Eight UpperPairs(Eight a, Eight b) {
  const hn::FixedTag<double, 4> pairs;
  return hn::BitCast(EightTag(), hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
}

// to[d][j] = from[j][d] for 8 keys j and 8 elements d.
HWY_INLINE void TransposeEight(const float* from, int64_t stride, float* to) {
  const EightTag d;
  Eight rows[8];
  REPRISE_UNROLL for (int j = 0; j < 8; ++j) rows[j] = hn::LoadU(d, from + j * stride);
  Eight quads[8];  // quads[4 h + c] = elements c and c + 4 of keys 4 h .. 4 h + 3
  REPRISE_UNROLL for (int h = 0; h < 2; ++h) {
    const Eight a = hn::InterleaveLower(d, rows[4 * h], rows[4 * h + 1]);
    const Eight b = hn::InterleaveLower(d, rows[4 * h + 2], rows[4 * h + 3]);
    const Eight e = hn::InterleaveUpper(d, rows[4 * h], rows[4 * h + 1]);
    const Eight f = hn::InterleaveUpper(d, rows[4 * h + 2], rows[4 * h + 3]);
    quads[4 * h] = LowerPairs(a, b);
    quads[4 * h + 1] = UpperPairs(a, b);
    quads[4 * h + 2] = LowerPairs(e, f);
    quads[4 * h + 3] = UpperPairs(e, f);
  }
  REPRISE_UNROLL for (int c = 0; c < 4; ++c) {
    hn::StoreU(hn::ConcatLowerLower(d, quads[4 + c], quads[c]), d, to + c * kKeyPanel);
    hn::StoreU(hn::ConcatUpperUpper(d, quads[4 + c], quads[c]), d, to + (c + 4) * kKeyPanel);
  }
}

void Pack(int64_t first, const ConstRows& k, float* panels) {
  const int64_t rows = k.rows, head_width = k.width, ldk = k.stride;
  for (int64_t r = 0; r < rows;) {
    const int64_t j = first + r;
    float* to = panels + j / kKeyPanel * head_width * kKeyPanel + j % kKeyPanel;
    const float* from = k[r];
    const int64_t keys = j % 8 == 0 && rows - r >= 8 ? 8 : 1;
    int64_t d = 0;
    if (keys == 8) {
      for (; d + 8 <= head_width; d += 8) TransposeEight(from + d, ldk, to + d * kKeyPanel);
    }
    for (; d < head_width; ++d) {
      for (int64_t i = 0; i < keys; ++i) to[d * kKeyPanel + i] = from[i * ldk + d];
    }
    r += keys;
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(Pack);

int64_t KeyPanelFloats(int64_t count, int64_t head_width) {
  return (count + kKeyPanel - 1) / kKeyPanel * kKeyPanel * head_width;
}

void PackKeys(int64_t first, const ConstRows& k, float* panels) { HWY_DYNAMIC_DISPATCH(Pack)(first, k, panels); }

}  // namespace reprise::kernels
#endif
