#include "kernels/products/scratch.h"

#include <memory>
#include <new>

namespace reprise::kernels {
namespace {

constexpr std::align_val_t kAlignment{64};

struct Free {
  void operator()(float* p) const { ::operator delete[](p, kAlignment); }
};

struct Buffer {
  std::unique_ptr<float, Free> data;
  size_t size = 0;
};

}  // namespace

float* ThreadScratch(size_t floats) {
  thread_local Buffer buffer;
  if (floats > buffer.size) {
    buffer.data.reset();
    buffer.data.reset(static_cast<float*>(::operator new[](floats * sizeof(float), kAlignment)));
    buffer.size = floats;
  }
  return buffer.data.get();
}

}  // namespace reprise::kernels
