#ifndef MODELS_GENERATION_ASK_POOL_H_
#define MODELS_GENERATION_ASK_POOL_H_

// Waits for external processes on separate threads, so that the decoding threads continue, and stops waiting once the
// result is not needed any more.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "core/parallel/thread_pool.h"

namespace reprise::models {

// Threads that run calls to an external process, in the order in which Ask received them.
class AskPool {
 public:
  // ResourceExhausted where the operating system starts no more threads.
  static absl::StatusOr<std::unique_ptr<AskPool>> Create(int64_t threads);
  // Runs the remaining calls, then joins the threads.
  ~AskPool();
  AskPool(const AskPool&) = delete;
  AskPool& operator=(const AskPool&) = delete;

  // Queues the call and returns at once. Thread-safe.
  void Ask(std::function<void()> question);

 private:
  AskPool() = default;
  void Loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> questions_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

// As pool.ForEach(count, work). While the calling thread has no more work and waits for the others, it calls `look`
// many times a second, until `look` returns true: the result is not needed any more, and the work must then end by
// itself. `look` may be null.
void ForEachLooking(ThreadPool& pool, int64_t count, const std::function<void(int64_t index)>& work,
                    const std::function<bool()>& look);

}  // namespace reprise::models

#endif  // MODELS_GENERATION_ASK_POOL_H_
