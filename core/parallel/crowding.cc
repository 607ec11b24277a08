#include "core/parallel/crowding.h"

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace reprise {
namespace {

int ProcessorsOfThisProcess() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : CPU_SETSIZE;
}

struct Crowd {
  std::atomic<int> processors{ProcessorsOfThisProcess()}, ranks{1}, threads{0};
};

Crowd& TheCrowd() {
  static auto* const crowd = new Crowd;
  return *crowd;
}

}  // namespace

void ShareProcessors(int processors, int ranks) {
  TheCrowd().processors.store(processors, std::memory_order_relaxed);
  TheCrowd().ranks.store(ranks, std::memory_order_relaxed);
}

void CountThreads(int threads) { TheCrowd().threads.fetch_add(threads, std::memory_order_relaxed); }

bool IsCrowded() {
  const Crowd& crowd = TheCrowd();
  const int64_t threads = crowd.threads.load(std::memory_order_relaxed);
  return threads * crowd.ranks.load(std::memory_order_relaxed) > crowd.processors.load(std::memory_order_relaxed);
}

}  // namespace reprise
