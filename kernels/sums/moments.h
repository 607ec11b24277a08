#ifndef KERNELS_SUMS_MOMENTS_H_
#define KERNELS_SUMS_MOMENTS_H_

// Mean and variance of numbers that come in parts, in double.

#include "absl/types/span.h"

namespace reprise::kernels {

// Of `count` numbers: their mean, and the sum of the squares of their distances from it.
struct Moments {
  double count = 0, mean = 0, squares = 0;

  // Divided by count - ddof; 0 where that is not positive.
  double Variance(double ddof) const { return count > ddof ? squares / (count - ddof) : 0.0; }
  bool operator==(const Moments&) const = default;
};

// In two passes, each a TreeSum.
Moments MomentsOf(absl::Span<const double> values);

// Returns the moments of both sets of numbers (Chan, Golub & LeVeque 1979), exactly those of one where the other is
// empty. Not associative in the last bits: the caller merges parts in a fixed order.
Moments Merge(const Moments& a, const Moments& b);

}  // namespace reprise::kernels

#endif  // KERNELS_SUMS_MOMENTS_H_
