#include "kernels/optimizer/gram_schmidt.h"

#include <cmath>

#include "core/status/check.h"

namespace reprise::kernels {
namespace {

double Dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum = std::fma(a[i], b[i], sum);
  return sum;
}

}  // namespace

void GramSchmidt(const RowView<double>& x) {
  CHECK_LE(x.rows, x.width);
  for (int64_t r = 0; r < x.rows; ++r) {
    double* const row = x[r];
    for (int64_t step = 0; step < 2 * r; ++step) {
      const double* const earlier = x[step % r];
      const double part = Dot(row, earlier, x.width);
      for (int64_t i = 0; i < x.width; ++i) row[i] = std::fma(-part, earlier[i], row[i]);
    }
    const double length = std::sqrt(Dot(row, row, x.width));
    CHECK_GT(length, 0);
    for (int64_t i = 0; i < x.width; ++i) row[i] /= length;
  }
}

}  // namespace reprise::kernels
