#include "core/machine/processors.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <thread>

namespace reprise {

ProcessorMask AllowedProcessors() {
  ProcessorMask mask = {};
  if (::sched_getaffinity(0, sizeof(mask), reinterpret_cast<cpu_set_t*>(mask.data())) == 0) return mask;
  const unsigned count = std::clamp<unsigned>(std::thread::hardware_concurrency(), 1, 64 * mask.size());
  for (unsigned i = 0; i < count; ++i) mask[i / 64] |= uint64_t{1} << (i % 64);
  return mask;
}

bool Overlap(const ProcessorMask& a, const ProcessorMask& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if ((a[i] & b[i]) != 0) return true;
  }
  return false;
}

int UsableProcessors(const CgroupLimits& limits) {
  int count = 0;
  for (const uint64_t word : AllowedProcessors()) count += std::popcount(word);
  const double limit = limits.processors;
  return std::max(1, limit < count ? static_cast<int>(limit) : count);
}

}  // namespace reprise
