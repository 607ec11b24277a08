// Packing: pure copies, so four floats at a time will do on every machine and one compilation.

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/products/products.h"

namespace reprise::kernels {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A block's steps fill one cache line of each of the panel's rows of w: the line is used up before it is left.
constexpr int64_t kBlockSteps = 16;

// to[s * kPanel + j] = from[j * stride + s] for j, s in [0, 4).
HWY_INLINE void Transpose4(const float* from, int64_t stride, float* to) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<uint64_t, 2> pairs;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + stride);
  const auto c = hn::LoadU(d, from + 2 * stride), e = hn::LoadU(d, from + 3 * stride);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, to + kPanel);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, to + 2 * kPanel);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, to + 3 * kPanel);
}

void TransposeBlock(const float* w, int64_t k, float* panel) {
  for (int64_t j = 0; j < kPanel; j += 4) {
    for (int64_t s = 0; s < kBlockSteps; s += 4) Transpose4(w + j * k + s, k, panel + s * kPanel + j);
  }
}

}  // namespace

int64_t Panels(int64_t outputs) { return (outputs + kPanel - 1) / kPanel; }

int64_t PackedSize(int64_t outputs, int64_t contraction) { return Panels(outputs) * contraction * kPanel; }

void PackForward(const float* w, int64_t n, int64_t k, float* packed, int64_t first_panel, int64_t last_panel) {
  for (int64_t p = first_panel; p < last_panel; ++p) {
    const float* const rows = w + p * kPanel * k;
    const int64_t width = std::min(kPanel, n - p * kPanel);
    float* const panel = packed + p * k * kPanel;
    int64_t s = 0;
    if (width == kPanel) {
      for (; s + kBlockSteps <= k; s += kBlockSteps) TransposeBlock(rows + s, k, panel + s * kPanel);
    }
    for (; s < k; ++s) {
      for (int64_t j = 0; j < kPanel; ++j) panel[s * kPanel + j] = j < width ? rows[j * k + s] : 0.0f;
    }
  }
}

void PackTransposed(const float* w, int64_t n, int64_t k, float* packed, int64_t first_panel, int64_t last_panel) {
  for (int64_t p = first_panel; p < last_panel; ++p) {
    const int64_t width = std::min(kPanel, k - p * kPanel);
    float* panel = packed + p * n * kPanel;
    for (int64_t s = 0; s < n; ++s, panel += kPanel) {
      std::memcpy(panel, w + s * k + p * kPanel, static_cast<size_t>(width) * sizeof(float));
      if (width < kPanel) std::fill(panel + width, panel + kPanel, 0.0f);
    }
  }
}

}  // namespace reprise::kernels
