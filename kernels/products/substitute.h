#ifndef KERNELS_PRODUCTS_SUBSTITUTE_H_
#define KERNELS_PRODUCTS_SUBSTITUTE_H_

// Another library in the place of these products, where sums are free to reorder: run.reduction = "fast", by which the
// cost of fixed orders is measured. Nothing else may set one.

#include <cstdint>
#include <functional>

namespace reprise::kernels {

// Called from any thread. The functions may compute by `own`, which is the product of this library.
class ProductSubstitute {
 public:
  virtual ~ProductSubstitute() = default;

  // y [rows, outputs] of the matrix that was packed at `packed`, all of its panels or not.
  virtual void Product(int64_t rows, int64_t outputs, int64_t contraction, const float* x, int64_t ldx,
                       const float* packed, float* y, int64_t ldy, const std::function<void()>& own) = 0;

  // dw [n, k] = or, unless `anew`, += dy[rows, n]^T x[rows, k].
  virtual void WeightGradient(int64_t rows, int64_t n, int64_t k, const float* dy, int64_t lddy, const float* x,
                              int64_t ldx, bool anew, float* dw, const std::function<void()>& own) = 0;

  // w [n, k], or its transpose, was packed at `packed`; its last panels are the last ones to come.
  virtual void Packed(const float* w, int64_t n, int64_t k, bool transposed, float* packed) = 0;
};

// Null by default. Before any other thread computes; must outlive all products.
void SubstituteProducts(ProductSubstitute* substitute);
ProductSubstitute* SubstituteOfProducts();

}  // namespace reprise::kernels

#endif  // KERNELS_PRODUCTS_SUBSTITUTE_H_
