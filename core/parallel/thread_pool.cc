#include "core/parallel/thread_pool.h"

#include <immintrin.h>

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/parallel/activity.h"
#include "core/parallel/crowding.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

// A waiting worker spins this often before it sleeps: long enough for the gaps within a step (measured: a wake-up from
// sleep costs 30 to 600 us, a spinning worker answers in 1 us), short enough to leave the core to others between steps.
constexpr int kSpins = 20000;

int SpinsBeforeSleep() { return IsCrowded() ? 0 : kSpins; }

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
      for (int spins = SpinsBeforeSleep(); round.load(std::memory_order_acquire) == seen; --spins) {
        if (spins > 0) {
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

ThreadPool::ThreadPool(int threads, NotStarted) : threads_(threads), state_(std::make_unique<State>()) {
  CHECK_GE(threads, 1);
  if (threads_ > 1) CountThreads(threads_);
}

ThreadPool::ThreadPool(int threads) : ThreadPool(threads, NotStarted()) { CHECK(Start().ok()); }

absl::StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::Create(int threads) {
  std::unique_ptr<ThreadPool> pool(new ThreadPool(threads, NotStarted()));
  RETURN_IF_ERROR(pool->Start());
  return pool;
}

absl::Status ThreadPool::Start() {
  state_->workers.reserve(static_cast<size_t>(threads_));
  for (int worker = 1; worker < threads_; ++worker) {
    try {
      state_->workers.emplace_back([this, worker] { state_->Loop(worker); });
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(absl::StrCat("the system started only ", worker, " of ", threads_,
                                                       " threads (", error.what(),
                                                       "): lower execution.threads or execution.process_count, or "
                                                       "raise the limits on processes and memory (ulimit -u, "
                                                       "ulimit -v)"));
    }
  }
  return absl::OkStatus();
}

ThreadPool::~ThreadPool() {
  if (threads_ > 1) CountThreads(-threads_);
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
  for (int spins = SpinsBeforeSleep(); (left = state_->running.load(std::memory_order_acquire)) != 0; --spins) {
    if (spins > 0) {
      _mm_pause();
    } else {
      state_->running.wait(left, std::memory_order_acquire);
    }
  }
}

void ThreadPool::ForEach(int64_t count, const std::function<void(int64_t, int)>& work) {
  std::atomic<int64_t> next{0};
  OnEveryWorker([&](int worker) {
    for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      work(index, worker);
      MarkActivity();
    }
  });
}

}  // namespace reprise
