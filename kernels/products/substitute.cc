#include "kernels/products/substitute.h"

#include <atomic>

namespace reprise::kernels {
namespace {

std::atomic<ProductSubstitute*> current{nullptr};

}  // namespace

void SubstituteProducts(ProductSubstitute* substitute) { current.store(substitute, std::memory_order_release); }

ProductSubstitute* SubstituteOfProducts() { return current.load(std::memory_order_acquire); }

}  // namespace reprise::kernels
