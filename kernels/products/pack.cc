// Packing only copies and rounds in exact integer arithmetic, so one compilation serves every machine.

#include <algorithm>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/products/products.h"
#include "kernels/products/substitute.h"
#include "kernels/products/transpose-inl.h"

namespace reprise::kernels {
namespace {

void ReportSubstitute(const float* w, int64_t n, int64_t k, bool transposed, int64_t last_panel, float* packed) {
  ProductSubstitute* const substitute = SubstituteOfProducts();
  if (substitute != nullptr && last_panel == Panels(transposed ? k : n))
    substitute->Packed(w, n, k, transposed, packed);
}

// A block's steps fill one cache line of each of the panel's rows of w, so that each line is read once.
constexpr int64_t kBlockSteps = 16;

void TransposeBlock(const float* w, int64_t k, float* panel) {
  for (int64_t j = 0; j < kPanel; j += 4) {
    for (int64_t s = 0; s < kBlockSteps; s += 4)
      HWY_NAMESPACE::Transpose4(w + j * k + s, k, panel + s * kPanel + j, kPanel);
  }
}

// Copies whole cache lines to aligned memory, past the caches if `past_caches`.
void CopyLines(const void* from, int64_t bytes, void* to, bool past_caches) {
  if (!past_caches) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  const hwy::HWY_NAMESPACE::FixedTag<uint8_t, 16> d;
  for (int64_t i = 0; i < bytes; i += 16) {
    const auto part = hwy::HWY_NAMESPACE::LoadU(d, static_cast<const uint8_t*>(from) + i);
    hwy::HWY_NAMESPACE::Stream(part, d, static_cast<uint8_t*>(to) + i);
  }
}

// Stores a panel's outputs at `count` steps in the packed layout.
void Store(const float* outputs, int64_t count, float* to, bool past_caches) {
  CopyLines(outputs, count * kPanel * static_cast<int64_t>(sizeof(float)), to, past_caches);
}
void Store(const float* outputs, int64_t count, Bf16Pair* to, bool past_caches) {
  for (int64_t step = 0; step < count; ++step, outputs += kPanel, to += kStepElements<Bf16Pair>) {
    Bf16Pair pairs[kPanel / 2];
    for (int64_t j = 0; j < kPanel / 2; ++j) {
      pairs[j] = static_cast<Bf16Pair>(RoundToBf16(outputs[j])) |
                 static_cast<Bf16Pair>(RoundToBf16(outputs[j + kPanel / 2])) << 16;
    }
    CopyLines(pairs, sizeof(pairs), to, past_caches);
  }
}

// The panels that start with w's first row, which are outputs: w is [rows, k].
template <typename Element>
void PackOutputs(const float* w, int64_t rows, int64_t k, Element* packed, bool past_caches) {
  alignas(64) float steps[kBlockSteps * kPanel];
  for (int64_t row = 0; row < rows; row += kPanel, w += kPanel * k) {
    const int64_t width = std::min(kPanel, rows - row);
    for (int64_t first = 0; first < k; first += kBlockSteps) {
      const int64_t count = std::min(kBlockSteps, k - first);
      if (width == kPanel && count == kBlockSteps) {
        TransposeBlock(w + first, k, steps);
      } else {
        for (int64_t i = 0; i < count * kPanel; ++i) {
          const int64_t j = i % kPanel;
          steps[i] = j < width ? w[j * k + first + i / kPanel] : 0.0f;
        }
      }
      Store(steps, count, packed + first * kStepElements<Element>, past_caches);
    }
    packed += k * kStepElements<Element>;
  }
}

// Panels [first_panel, last_panel) of w's columns, of which w's rows [rows, k] are steps from `first_step` of n on.
template <typename Element>
void PackSteps(const float* w, int64_t rows, int64_t k, int64_t first_step, int64_t n, Element* packed,
               int64_t first_panel, int64_t last_panel, bool past_caches) {
  alignas(64) float padded[kPanel] = {};
  for (int64_t p = first_panel; p < last_panel; ++p) {
    const int64_t width = std::min(kPanel, k - p * kPanel);
    Element* to = packed + (p * n + first_step) * kStepElements<Element>;
    for (int64_t row = 0; row < rows; ++row, to += kStepElements<Element>) {
      const float* outputs = w + row * k + p * kPanel;
      if (width < kPanel) {
        std::copy_n(outputs, width, padded);
        outputs = padded;
      }
      Store(outputs, 1, to, past_caches);
    }
  }
}

template <typename Element>
void PackBoth(const float* w, int64_t rows, int64_t k, int64_t first_row, int64_t n, Element* packed,
              Element* transposed, bool past_caches) {
  PackOutputs(w, rows, k, packed + first_row / kPanel * k * kStepElements<Element>, past_caches);
  if (transposed != nullptr) PackSteps(w, rows, k, first_row, n, transposed, 0, Panels(k), past_caches);
  if (past_caches) hwy::FlushStream();  // before another thread is notified of them
}

}  // namespace

int64_t Panels(int64_t outputs) { return (outputs + kPanel - 1) / kPanel; }

int64_t PackedSize(int64_t outputs, int64_t contraction) { return Panels(outputs) * contraction * kPanel; }

void PackForward(const float* w, int64_t n, int64_t k, float* packed, int64_t first_panel, int64_t last_panel) {
  PackOutputs(w + first_panel * kPanel * k, std::min(n, last_panel * kPanel) - first_panel * kPanel, k,
              packed + first_panel * k * kPanel, false);
  ReportSubstitute(w, n, k, /*transposed=*/false, last_panel, packed);
}

void PackTransposed(const float* w, int64_t n, int64_t k, float* packed, int64_t first_panel, int64_t last_panel) {
  PackSteps(w, n, k, 0, n, packed, first_panel, last_panel, false);
  ReportSubstitute(w, n, k, /*transposed=*/true, last_panel, packed);
}

void PackForward(const float* w, int64_t n, int64_t k, Bf16Pair* packed, int64_t first_panel, int64_t last_panel) {
  PackOutputs(w + first_panel * kPanel * k, std::min(n, last_panel * kPanel) - first_panel * kPanel, k,
              packed + first_panel * k * kStepElements<Bf16Pair>, false);
}

void PackTransposed(const float* w, int64_t n, int64_t k, Bf16Pair* packed, int64_t first_panel, int64_t last_panel) {
  PackSteps(w, n, k, 0, n, packed, first_panel, last_panel, false);
}

void PackRows(const float* w, int64_t rows, int64_t k, int64_t first_row, int64_t n, float* packed, float* transposed,
              bool past_caches) {
  PackBoth(w, rows, k, first_row, n, packed, transposed, past_caches);
}

void PackRows(const float* w, int64_t rows, int64_t k, int64_t first_row, int64_t n, Bf16Pair* packed,
              Bf16Pair* transposed, bool past_caches) {
  PackBoth(w, rows, k, first_row, n, packed, transposed, past_caches);
}

namespace {

// Sets output `output` at step `step` of a packed matrix of `contraction` steps.
void SetWeight(int64_t output, int64_t step, int64_t contraction, float value, float* packed) {
  packed[(output / kPanel * contraction + step) * kStepElements<float> + output % kPanel] = value;
}

void SetWeight(int64_t output, int64_t step, int64_t contraction, float value, Bf16Pair* packed) {
  constexpr int64_t half = kStepElements<Bf16Pair>;
  Bf16Pair& pair = packed[(output / kPanel * contraction + step) * half + output % half];
  const uint32_t bits = RoundToBf16(value);
  const bool is_upper = output % kPanel >= half;
  pair = is_upper ? (pair & ~kUpperHalf) | bits << 16 : (pair & kUpperHalf) | bits;
}

template <typename Element>
void Replace(const float* w, int64_t rows, int64_t k, int64_t first_row, int64_t n, Element* packed,
             Element* transposed) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < k; ++c) {
      SetWeight(first_row + r, c, k, w[r * k + c], packed);
      if (transposed != nullptr) SetWeight(c, first_row + r, n, w[r * k + c], transposed);
    }
  }
}

}  // namespace

void ReplaceRows(const float* w, int64_t rows, int64_t k, int64_t first_row, int64_t n, float* packed,
                 float* transposed) {
  Replace(w, rows, k, first_row, n, packed, transposed);
}

void ReplaceRows(const float* w, int64_t rows, int64_t k, int64_t first_row, int64_t n, Bf16Pair* packed,
                 Bf16Pair* transposed) {
  Replace(w, rows, k, first_row, n, packed, transposed);
}

}  // namespace reprise::kernels
