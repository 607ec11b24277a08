#ifndef CORE_TENSOR_TENSOR_H_
#define CORE_TENSOR_TENSOR_H_

// Named, typed, shaped bytes: the one way in which tensors cross layers. A view never owns; a Tensor always does.
// Dense and row-major only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise {

// Stored in artifacts: do not change the values.
enum class DType : uint8_t { kF32 = 0, kF64 = 1, kBF16 = 2, kF16 = 3, kI64 = 4, kI32 = 5, kU8 = 6 };

int64_t SizeOf(DType dtype);            // bytes per element
absl::string_view NameOf(DType dtype);  // "f32", "bf16", ...

using Shape = std::vector<int64_t>;  // dimensions, outermost first; empty means a scalar

int64_t NumElements(const Shape& shape);   // product; 1 for a scalar. Dimensions must be >= 0
std::string ToString(const Shape& shape);  // "[64, 128]"

// A view of constant bytes. `name`, `shape` are copied; `bytes` must outlive the view.
struct TensorView {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  absl::Span<const std::byte> bytes;

  int64_t size() const { return NumElements(shape); }
  // The elements as T. T's size must be that of `dtype` (checked).
  template <typename T>
  absl::Span<const T> data() const;
};

// Owns its elements, aligned to 64 bytes, zero when made. Movable, not copyable.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::string name, DType dtype, Shape shape);
  Tensor(Tensor&&) = default;
  Tensor& operator=(Tensor&&) = default;

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t size() const { return size_; }

  TensorView view() const;
  absl::Span<const std::byte> bytes() const;
  absl::Span<std::byte> mutable_bytes();
  template <typename T>
  absl::Span<const T> data() const;
  template <typename T>
  absl::Span<T> mutable_data();

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::string name_;
  DType dtype_ = DType::kF32;
  Shape shape_ = {0};
  int64_t size_ = 0;
  std::unique_ptr<std::byte, Free> bytes_;
};

namespace internal {
void CheckElementSize(DType dtype, size_t size);
}  // namespace internal

template <typename T>
absl::Span<const T> TensorView::data() const {
  internal::CheckElementSize(dtype, sizeof(T));
  return absl::MakeConstSpan(reinterpret_cast<const T*>(bytes.data()), static_cast<size_t>(size()));
}

template <typename T>
absl::Span<const T> Tensor::data() const {
  internal::CheckElementSize(dtype_, sizeof(T));
  return absl::MakeConstSpan(reinterpret_cast<const T*>(bytes_.get()), static_cast<size_t>(size_));
}

template <typename T>
absl::Span<T> Tensor::mutable_data() {
  internal::CheckElementSize(dtype_, sizeof(T));
  return absl::MakeSpan(reinterpret_cast<T*>(bytes_.get()), static_cast<size_t>(size_));
}

}  // namespace reprise

#endif  // CORE_TENSOR_TENSOR_H_
