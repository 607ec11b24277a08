#ifndef KERNELS_PRODUCTS_SUBSTITUTE_H_
#define KERNELS_PRODUCTS_SUBSTITUTE_H_

// Replaces these products with another library that may reorder sums: for run.reduction = "fast", which serves to
// measure the cost of fixed orders. Nothing else may set a substitute.

#include <cstdint>
#include <functional>

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// Called from any thread. The functions may call `own`, which is this library's product.
class ProductSubstitute {
 public:
  virtual ~ProductSubstitute() = default;

  // Computes y [rows, outputs] with the matrix that was packed at `packed`, for all or some of its panels.
  virtual void Product(const ConstRows& x, const float* packed, const Rows& y, const std::function<void()>& own) = 0;

  // dw [n, k] = or, unless `anew`, += dy[rows, n]^T x[rows, k].
  virtual void WeightGradient(const ConstRows& dy, const ConstRows& x, bool anew, float* dw,
                              const std::function<void()>& own) = 0;

  // Called after w [n, k], or its transpose, was packed at `packed`; its last panels are packed last.
  virtual void Packed(const float* w, int64_t n, int64_t k, bool transposed, float* packed) = 0;
};

// Null by default. Must be called before any other thread computes; `substitute` must outlive all products.
void SubstituteProducts(ProductSubstitute* substitute);
ProductSubstitute* SubstituteOfProducts();

}  // namespace reprise::kernels

#endif  // KERNELS_PRODUCTS_SUBSTITUTE_H_
