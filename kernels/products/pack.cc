// Packing: pure copies, compiled once.

#include <algorithm>
#include <cstring>

#include "kernels/products/products.h"

namespace reprise::kernels {
namespace {

// Rows of w in blocks of 16 steps: a block of 32 rows x 16 steps passes through the first-level cache, so that both the
// reads along w's rows and the writes along the panel are contiguous.
constexpr int64_t kSteps = 16;

void TransposeBlock(const float* w, int64_t k, float* panel) {
  alignas(64) float block[kPanel][kSteps];
  for (int64_t j = 0; j < kPanel; ++j) std::memcpy(block[j], w + j * k, sizeof(block[j]));
  for (int64_t s = 0; s < kSteps; ++s) {
    for (int64_t j = 0; j < kPanel; ++j) panel[s * kPanel + j] = block[j][s];
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
      for (; s + kSteps <= k; s += kSteps) TransposeBlock(rows + s, k, panel + s * kPanel);
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
