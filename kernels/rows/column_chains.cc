#include "kernels/rows/column_chains.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/column_chains.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// Continues the chains over rows of one segment. from: the chains' start values, null for 0; to: where the results are
// stored, or added if `add`.
void ContinueColumns(const ConstRows& a, const ConstRows& b, const float* from, float* to, bool add) {
  const FloatTag d;
  const int64_t n = a.width;
  for (int64_t j = 0; j < n; j += 64) {
    Floats chain[kLaneVectors];
    REPRISE_UNROLL for (int v = 0; v < kLaneVectors; ++v) {
      const int64_t at = j + v * kWidth;
      chain[v] = from == nullptr ? hn::Zero(d) : LoadPart(from + at, n - at, 0.0f);
    }
    for (int64_t r = 0; r < a.rows; ++r) {
      REPRISE_UNROLL for (int v = 0; v < kLaneVectors; ++v) {
        const int64_t at = j + v * kWidth;
        const Floats factor = b.data == nullptr ? hn::Set(d, 1.0f) : LoadPart(b[r] + at, n - at, 0.0f);
        chain[v] = hn::MulAdd(LoadPart(a[r] + at, n - at, 0.0f), factor, chain[v]);
      }
    }
    REPRISE_UNROLL for (int v = 0; v < kLaneVectors; ++v) {
      const int64_t at = j + v * kWidth;
      StorePart(add ? hn::Add(LoadPart(to + at, n - at, 0.0f), chain[v]) : chain[v], to + at, n - at);
    }
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(ContinueColumns);

void AccumulateColumns(const ConstRows& a, const ConstRows& b, const GradientChains& gradient) {
  if (a.rows == 0 && gradient.last) gradient.Close(a.width);
  for (Range piece; piece.begin < a.rows; piece.begin = piece.end) {
    const int64_t row = gradient.first_row + piece.begin;  // within the shard
    piece.end = std::min(a.rows, piece.begin + kSegment - row % kSegment);
    const bool finished = (row + piece.size()) % kSegment == 0 || (piece.end == a.rows && gradient.last);
    HWY_DYNAMIC_DISPATCH(ContinueColumns)
    (a.Slice(piece), b.data == nullptr ? b : b.Slice(piece), row % kSegment == 0 ? nullptr : gradient.open,
     finished ? gradient.total : gradient.open, finished && row >= kSegment);
  }
}

}  // namespace reprise::kernels
#endif
