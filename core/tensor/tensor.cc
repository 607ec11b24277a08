#include "core/tensor/tensor.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/check.h"

namespace reprise {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vector

// Fails as `new` does: calls the program's new-handler, which reports to the user.
void OutOfMemory(size_t bytes) {
  if (const std::new_handler handler = std::get_new_handler()) handler();
  std::fprintf(stderr, "out of memory: a tensor of %zu bytes\n", bytes);
  std::abort();
}

size_t RoundUp(size_t bytes, size_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

// Returns zeroed memory. A large tensor is put on huge pages where the system has them: a matrix product that reads
// weights of many megabytes would otherwise wait for address translation.
void* Allocate(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool large = bytes >= 2 * kHugePage;
  const size_t alignment = large ? kHugePage : kAlignment;
  const size_t rounded = RoundUp(bytes, kAlignment);
  void* const memory = std::aligned_alloc(alignment, RoundUp(bytes, alignment));
  if (memory == nullptr) OutOfMemory(bytes);
  if (large) madvise(memory, rounded, MADV_HUGEPAGE);  // only advice, so a failure is ignored
  std::memset(memory, 0, rounded);
  return memory;
}

}  // namespace

int64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
      return 2;
    case DType::kU8:
      return 1;
  }
  CHECK(false);
  return 0;
}

absl::string_view NameOf(DType dtype) {
  constexpr absl::string_view kNames[] = {"f32", "f64", "bf16", "f16", "i64", "i32", "u8"};
  return kNames[static_cast<size_t>(dtype)];
}

int64_t NumElements(const Shape& shape) {
  int64_t size = 1;
  for (int64_t dimension : shape) {
    CHECK_GE(dimension, 0);
    size *= dimension;
  }
  return size;
}

std::string ToString(const Shape& shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

namespace internal {
void CheckElementSize(DType dtype, size_t size) { CHECK_EQ(static_cast<size_t>(SizeOf(dtype)), size); }
}  // namespace internal

void Tensor::Free::operator()(std::byte* p) const { std::free(p); }

Tensor::Tensor(std::string name, DType dtype, Shape shape)
    : name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)), size_(NumElements(shape_)) {
  bytes_.reset(static_cast<std::byte*>(Allocate(static_cast<size_t>(size_ * SizeOf(dtype_)) + 1)));
}

TensorView Tensor::view() const { return {name_, dtype_, shape_, bytes()}; }

absl::Span<const std::byte> Tensor::bytes() const {
  return absl::MakeConstSpan(bytes_.get(), static_cast<size_t>(size_ * SizeOf(dtype_)));
}

absl::Span<std::byte> Tensor::mutable_bytes() {
  return absl::MakeSpan(bytes_.get(), static_cast<size_t>(size_ * SizeOf(dtype_)));
}

}  // namespace reprise
