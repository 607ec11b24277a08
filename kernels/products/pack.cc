// Packing: copies, and rounding that is exact in integers, so one compilation will do for every machine.

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

namespace {

// A panel's outputs at one step.
void PackStep(const float* outputs, Bf16Pair* pairs) {
  for (int64_t j = 0; j < kPanel / 2; ++j) {
    pairs[j] = static_cast<Bf16Pair>(RoundToBf16(outputs[j])) |
               static_cast<Bf16Pair>(RoundToBf16(outputs[j + kPanel / 2])) << 16;
  }
}

}  // namespace

void PackForward(const float* w, int64_t n, int64_t k, Bf16Pair* packed, int64_t first_panel, int64_t last_panel) {
  alignas(64) float steps[kBlockSteps * kPanel];
  for (int64_t p = first_panel; p < last_panel; ++p) {
    const float* const rows = w + p * kPanel * k;
    const int64_t width = std::min(kPanel, n - p * kPanel);
    for (int64_t first = 0; first < k; first += kBlockSteps) {
      const int64_t count = std::min(kBlockSteps, k - first);
      if (width == kPanel && count == kBlockSteps) {
        TransposeBlock(rows + first, k, steps);
      } else {
        for (int64_t i = 0; i < count * kPanel; ++i) {
          const int64_t j = i % kPanel;
          steps[i] = j < width ? rows[j * k + first + i / kPanel] : 0.0f;
        }
      }
      Bf16Pair* const pairs = packed + (p * k + first) * kStepElements<Bf16Pair>;
      for (int64_t s = 0; s < count; ++s) PackStep(steps + s * kPanel, pairs + s * kStepElements<Bf16Pair>);
    }
  }
}

void PackTransposed(const float* w, int64_t n, int64_t k, Bf16Pair* packed, int64_t first_panel, int64_t last_panel) {
  for (int64_t p = first_panel; p < last_panel; ++p) {
    const int64_t width = std::min(kPanel, k - p * kPanel);
    alignas(64) float padded[kPanel] = {};
    for (int64_t s = 0; s < n; ++s) {
      const float* outputs = w + s * k + p * kPanel;
      if (width < kPanel) {
        std::memcpy(padded, outputs, static_cast<size_t>(width) * sizeof(float));
        outputs = padded;
      }
      PackStep(outputs, packed + (p * n + s) * kStepElements<Bf16Pair>);
    }
  }
}

}  // namespace reprise::kernels
