#include "kernels/optimizer/orthogonalize.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/status/check.h"
#include "kernels/optimizer/muon.h"
#include "kernels/products/products.h"
#include "kernels/sums/sums.h"

namespace reprise::kernels {
namespace {

constexpr float kOfX = 3.4445f, kOfA = -4.7750f, kOfASquared = 2.0315f;
constexpr double kSmallestNorm = 1e-7;
constexpr int kMostSweeps = 60;          // about ten suffice
constexpr double kEpsilon = 0x1p-23;     // of a float, which the elements are
constexpr double kOrthogonal = 0x1p-46;  // cosine of two columns that need no rotation

double FrobeniusNorm(const std::vector<float>& x) {
  const int64_t size = static_cast<int64_t>(x.size());
  std::vector<double> sums(static_cast<size_t>(SumBlocks(size)));
  SumOfSquaresByBlock(size, x.data(), sums.data());
  return std::sqrt(TreeSum(sums));
}

// y [rows, rows] = x x^T, which is symmetric bit by bit: blocks on and below the diagonal are computed, and the others
// are copies of them. Blocks have a panel of columns, or where rows are long several, for which Product is faster.
void MultiplyByOwnTranspose(const ConstRows& x, float* packed, const Rows& y) {
  constexpr int64_t kLong = 1024, kPanelsOfLong = 4;
  const int64_t panels = Panels(x.rows), at_once = x.width < kLong ? 1 : kPanelsOfLong;
  PackForward(x.data, x.rows, x.width, packed, 0, panels);
  for (int64_t panel = 0; panel < panels; panel += at_once) {
    const Range block = {panel, std::min(panels, panel + at_once)};
    const Range below = {block.begin * kPanel, x.rows};
    Product(x.Slice(below), packed, y.Slice(below), block);
    const int64_t end = std::min(block.end * kPanel, x.rows);
    for (int64_t row = end; row < x.rows; ++row) {
      for (int64_t column = below.begin; column < end; ++column) y[column][row] = y[row][column];
    }
  }
}

// A matrix of doubles by columns, the longer dimension down.
using Columns = std::vector<std::vector<double>>;

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void Rotate(double cosine, double sine, std::vector<double>* a, std::vector<double>* b) {
  for (size_t i = 0; i < a->size(); ++i) {
    const double of_a = (*a)[i], of_b = (*b)[i];
    (*a)[i] = cosine * of_a - sine * of_b;
    (*b)[i] = sine * of_a + cosine * of_b;
  }
}

// Makes columns p and q orthogonal, and rotates v likewise. Returns false if they were.
bool MakeOrthogonal(size_t p, size_t q, Columns* columns, Columns* v) {
  std::vector<double>&a = (*columns)[p], &b = (*columns)[q];
  const double aa = Dot(a, a), bb = Dot(b, b), ab = Dot(a, b);
  if (std::fabs(ab) <= kOrthogonal * std::sqrt(aa) * std::sqrt(bb)) return false;
  const double zeta = (bb - aa) / (2 * ab);
  const double tangent = std::copysign(1.0, zeta) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
  const double cosine = 1 / std::sqrt(1 + tangent * tangent), sine = cosine * tangent;
  Rotate(cosine, sine, &a, &b);
  Rotate(cosine, sine, &(*v)[p], &(*v)[q]);
  return true;
}

// Rotates the columns until each two are orthogonal. Returns the rotations, by columns.
Columns Rotations(Columns* columns) {
  const size_t count = columns->size();
  Columns v(count, std::vector<double>(count));
  for (size_t i = 0; i < count; ++i) v[i][i] = 1;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool rotated = false;
    for (size_t p = 0; p < count; ++p) {
      for (size_t q = p + 1; q < count; ++q) rotated |= MakeOrthogonal(p, q, columns, &v);
    }
    if (!rotated) break;
  }
  return v;
}

}  // namespace

void NewtonSchulz(int64_t steps, const Rows& x) {
  CHECK_EQ(x.stride, x.width);
  const bool is_tall = x.rows > x.width;
  const int64_t rows = is_tall ? x.width : x.rows, width = is_tall ? x.rows : x.width, size = rows * width;
  std::vector<float> x_RC(static_cast<size_t>(size));
  const auto place = [&](int64_t r, int64_t c) { return is_tall ? c * rows + r : r * width + c; };  // in x.data
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < width; ++c) x_RC[r * width + c] = x.data[place(r, c)];
  }
  const float scale = static_cast<float>(1.0 / std::max(FrobeniusNorm(x_RC), kSmallestNorm));
  for (float& value : x_RC) value *= scale;
  std::vector<float> a_RR(static_cast<size_t>(rows * rows)), b_RR(a_RR.size()), bx_RC(x_RC.size());
  std::vector<float> packed(
      static_cast<size_t>(std::max({PackedSize(rows, width), PackedSize(rows, rows), PackedSize(width, rows)})));
  for (int64_t step = 0; step < steps; ++step) {
    MultiplyByOwnTranspose({x_RC.data(), rows, width}, packed.data(), {a_RR.data(), rows, rows});
    MultiplyByOwnTranspose({a_RR.data(), rows, rows}, packed.data(), {b_RR.data(), rows, rows});  // A A = A A^T
    Combine(rows * rows, kOfA, a_RR.data(), kOfASquared, b_RR.data());
    PackTransposed(x_RC.data(), rows, width, packed.data(), 0, Panels(width));
    Product({b_RR.data(), rows, rows}, packed.data(), {bx_RC.data(), rows, width});
    Combine(size, 1.0f, bx_RC.data(), kOfX, x_RC.data());
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < width; ++c) x.data[place(r, c)] = x_RC[r * width + c];
  }
}

void Orthogonalize(const Rows& x) {
  CHECK_EQ(x.stride, x.width);
  const bool is_wide = x.width > x.rows;
  const size_t count = static_cast<size_t>(std::min(x.rows, x.width)),
               length = static_cast<size_t>(std::max(x.rows, x.width));
  const auto at = [&](size_t i, size_t j) -> float& {  // element i of column j
    return is_wide ? x.data[j * length + i] : x.data[i * count + j];
  };
  float largest = 0;
  for (int64_t i = 0; i < x.rows * x.width; ++i) largest = std::max(largest, std::fabs(x.data[i]));
  if (largest == 0) return;
  Columns columns(count, std::vector<double>(length));
  for (size_t j = 0; j < count; ++j) {
    for (size_t i = 0; i < length; ++i) columns[j][i] = static_cast<double>(at(i, j)) / static_cast<double>(largest);
  }
  const Columns v = Rotations(&columns);
  std::vector<double> norm_K;
  for (const std::vector<double>& column : columns) norm_K.push_back(std::sqrt(Dot(column, column)));
  const double least = *std::max_element(norm_K.begin(), norm_K.end()) * kEpsilon * static_cast<double>(length);
  for (size_t i = 0; i < length; ++i) {
    for (size_t j = 0; j < count; ++j) {
      double sum = 0;
      for (size_t k = 0; k < count; ++k) {
        if (norm_K[k] > least) sum += columns[k][i] / norm_K[k] * v[k][j];
      }
      at(i, j) = static_cast<float>(sum);
    }
  }
}

}  // namespace reprise::kernels
