#ifndef BENCHMARKS_KERNELS_ARRAY_H_
#define BENCHMARKS_KERNELS_ARRAY_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace reprise::benchmarks {

// Floats in memory allocated like Reprise's tensors: aligned, and large ones on huge pages.
class Array {
 public:
  explicit Array(int64_t size) : floats_("", DType::kF32, {size}) {}  // zeros
  Array(const std::vector<float>& values)  // NOLINT(google-explicit-constructor): the two are interchangeable
      : Array(static_cast<int64_t>(values.size())) {
    std::copy(values.begin(), values.end(), data());
  }

  int64_t size() const { return floats_.size(); }
  float* data() { return floats_.mutable_data<float>().data(); }
  const float* data() const { return floats_.data<float>().data(); }

 private:
  Tensor floats_;
};

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_KERNELS_ARRAY_H_
