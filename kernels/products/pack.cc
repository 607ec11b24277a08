// Packing: pure copies, so four floats at a time will do on every machine and one compilation.

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/products/products.h"
#include "kernels/products/substitute.h"
#include "kernels/products/transpose-inl.h"

namespace reprise::kernels {
namespace {

void TellSubstitute(const float* w, int64_t n, int64_t k, bool transposed, int64_t last_panel, float* packed) {
  ProductSubstitute* const substitute = SubstituteOfProducts();
  if (substitute != nullptr && last_panel == Panels(transposed ? k : n))
    substitute->Packed(w, n, k, transposed, packed);
}

// A block's steps fill one cache line of each of the panel's rows of w: the line is used up before it is left.
constexpr int64_t kBlockSteps = 16;

void TransposeBlock(const float* w, int64_t k, float* panel) {
  for (int64_t j = 0; j < kPanel; j += 4) {
    for (int64_t s = 0; s < kBlockSteps; s += 4)
      HWY_NAMESPACE::Transpose4(w + j * k + s, k, panel + s * kPanel + j, kPanel);
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
  TellSubstitute(w, n, k, /*transposed=*/false, last_panel, packed);
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
  TellSubstitute(w, n, k, /*transposed=*/true, last_panel, packed);
}

}  // namespace reprise::kernels
