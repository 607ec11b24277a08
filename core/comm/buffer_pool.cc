#include "core/comm/buffer_pool.h"

#include <cstring>
#include <utility>

#include "core/status/check.h"

namespace reprise {

Tensor BufferPool::Acquire() {
  Tensor buffer;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) {
      ++allocated_;
    } else {
      buffer = std::move(free_.back());
      free_.pop_back();
    }
  }
  // Clearing gigabytes takes time: outside the lock.
  if (buffer.size() != size_) return Tensor("", DType::kF32, {size_});
  if (size_ > 0) std::memset(buffer.mutable_bytes().data(), 0, buffer.bytes().size());
  return buffer;
}

void BufferPool::Release(Tensor buffer) {
  CHECK(buffer.dtype() == DType::kF32);
  CHECK_EQ(buffer.size(), size_);
  std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(buffer));
}

int64_t BufferPool::allocated() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return allocated_;
}

}  // namespace reprise
