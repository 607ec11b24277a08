#include "models/generation/ask_pool.h"

#include <atomic>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise::models {

absl::StatusOr<std::unique_ptr<AskPool>> AskPool::Create(int64_t threads) {
  std::unique_ptr<AskPool> pool(new AskPool());
  try {
    for (int64_t i = 0; i < threads; ++i) pool->threads_.emplace_back([self = pool.get()] { self->Loop(); });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("only ", pool->threads_.size(), " of the ", threads,
                     " threads that wait for the external process can be started (", error.code().message(),
                     "): lower execution.process_count, or raise the limit of the user's processes (ulimit -u)"));
  }
  return pool;
}

AskPool::~AskPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void AskPool::Ask(std::function<void()> question) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    questions_.push_back(std::move(question));
  }
  changed_.notify_one();
}

void AskPool::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !questions_.empty(); });
    if (questions_.empty()) return;
    const std::function<void()> question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    question();
    lock.lock();
  }
}

void ForEachLooking(ThreadPool& pool, int64_t count, const std::function<void(int64_t)>& work,
                    const std::function<bool()>& look) {
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::condition_variable changed;
  int64_t done = 0;
  pool.OnEveryWorker([&](int worker) {
    for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      work(index);
      const std::lock_guard<std::mutex> lock(mutex);
      ++done;
      changed.notify_one();
    }
    if (worker != 0 || look == nullptr) return;
    std::unique_lock<std::mutex> lock(mutex);
    while (done < count && !look()) changed.wait_for(lock, std::chrono::milliseconds(50));
  });
}

}  // namespace reprise::models
