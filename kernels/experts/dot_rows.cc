// One chain per row uses only one lane of a vector unit and waits for each addition. Eight rows at a time fill the
// scalar pipeline; the order contract allows no more.

#include <algorithm>
#include <cmath>

#include "kernels/experts/token_rows.h"
#include "kernels/products/products.h"

namespace reprise::kernels {
namespace {

constexpr int kTogether = 8;

template <int kRows>
void DotTogether(const int32_t* token_R, const ConstRows& a_TD, const ConstRows& b_RD, float* dots) {
  const int64_t width = b_RD.width;
  const float* a[kRows];
  const float* b[kRows];
  for (int i = 0; i < kRows; ++i) {
    a[i] = a_TD[token_R[i]];
    b[i] = b_RD[i];
    dots[i] = 0;
  }
  for (int64_t first = 0; first < width; first += kSegment) {
    const int64_t last = std::min(first + kSegment, width);
    float chains[kRows] = {};
    for (int64_t d = first; d < last; ++d) {
      for (int i = 0; i < kRows; ++i) chains[i] = std::fma(a[i][d], b[i][d], chains[i]);
    }
    for (int i = 0; i < kRows; ++i) dots[i] = first == 0 ? chains[i] : dots[i] + chains[i];
  }
}

}  // namespace

void DotRows(const Dispatch& dispatch, const ConstRows& a_TD, const ConstRows& b_RD, float* dot_TK) {
  float dots[kTogether];
  for (int64_t r = 0; r < b_RD.rows;) {
    const int64_t count = b_RD.rows - r >= kTogether ? kTogether : 1;
    const auto dot = count == kTogether ? DotTogether<kTogether> : DotTogether<1>;
    dot(dispatch.token_R + r, a_TD, b_RD.Slice({r, r + count}), dots);
    for (int64_t i = 0; i < count; ++i) dot_TK[dispatch.At(r + i)] = dots[i];
    r += count;
  }
}

}  // namespace reprise::kernels
