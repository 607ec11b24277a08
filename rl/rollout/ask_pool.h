#ifndef RL_ROLLOUT_ASK_POOL_H_
#define RL_ROLLOUT_ASK_POOL_H_

// Waiting for others: on threads of its own, so that those that decode go on, and with an eye on whether it is still
// worth it.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/parallel/thread_pool.h"

namespace reprise::rl {

// Threads that ask questions in the order in which they are given.
class AskPool {
 public:
  explicit AskPool(int64_t threads);
  // All questions must have been asked.
  ~AskPool();
  AskPool(const AskPool&) = delete;
  AskPool& operator=(const AskPool&) = delete;

  // Returns at once. Thread-safe.
  void Ask(std::function<void()> question);

 private:
  void Loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> questions_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

// As pool.ForEach(count, work). When the calling thread has no more to do and waits for the others, it asks `look` many
// times a second, until that says that the wait is in vain; the work must then end of itself. Null: it only waits.
void ForEachLooking(ThreadPool& pool, int64_t count, const std::function<void(int64_t index)>& work,
                    const std::function<bool()>& look);

}  // namespace reprise::rl

#endif  // RL_ROLLOUT_ASK_POOL_H_
