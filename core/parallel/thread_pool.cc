#include "core/parallel/thread_pool.h"

#include <immintrin.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/status/check.h"

namespace reprise {
namespace {

// A waiting worker spins this often before it sleeps: long enough for the gaps within a step (measured: a wake-up from
// sleep costs 30 to 600 us, a spinning worker answers in 1 us), short enough to leave the core to others between steps.
constexpr int kSpins = 20000;

}  // namespace

struct ThreadPool::State {
  alignas(64) std::atomic<uint32_t> round{0};
  alignas(64) std::atomic<int> running{0};
  std::atomic<bool> stop{false};
  const std::function<void(int)>* work = nullptr;
  std::vector<std::thread> workers;

  void Loop(int worker) {
    uint32_t seen = 0;
    for (;;) {
      for (int spins = 0; round.load(std::memory_order_acquire) == seen; ++spins) {
        if (spins < kSpins) {
          _mm_pause();
        } else {
          round.wait(seen, std::memory_order_acquire);
        }
      }
      ++seen;
      if (stop.load(std::memory_order_relaxed)) return;
      (*work)(worker);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) running.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads), state_(std::make_unique<State>()) {
  CHECK_GE(threads, 1);
  for (int worker = 1; worker < threads; ++worker) {
    state_->workers.emplace_back([this, worker] { state_->Loop(worker); });
  }
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true, std::memory_order_relaxed);
  state_->round.fetch_add(1, std::memory_order_release);
  state_->round.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

void ThreadPool::OnEveryWorker(const std::function<void(int)>& work) {
  if (threads_ == 1) {
    work(0);
    return;
  }
  state_->work = &work;
  state_->running.store(threads_ - 1, std::memory_order_relaxed);
  state_->round.fetch_add(1, std::memory_order_release);
  state_->round.notify_all();
  work(0);
  int left = 0;
  for (int spins = 0; (left = state_->running.load(std::memory_order_acquire)) != 0; ++spins) {
    if (spins < kSpins) {
      _mm_pause();
    } else {
      state_->running.wait(left, std::memory_order_acquire);
    }
  }
}

void ThreadPool::ForEach(int64_t count, const std::function<void(int64_t, int)>& work) {
  std::atomic<int64_t> next{0};
  OnEveryWorker([&](int worker) {
    for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < count;) work(index, worker);
  });
}

}  // namespace reprise
