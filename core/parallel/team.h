#ifndef CORE_PARALLEL_TEAM_H_
#define CORE_PARALLEL_TEAM_H_

// Who shares one piece of work: the caller alone, or all threads of a pool. Passed down to code that can split its work
// but must not know whether its caller is itself one of the pool's workers.

#include <cstdint>
#include <functional>

#include "core/parallel/thread_pool.h"

namespace reprise {

class Team {
 public:
  Team() = default;                                  // the caller alone
  explicit Team(ThreadPool& pool) : pool_(&pool) {}  // the caller must not be inside a call of the pool

  int threads() const { return pool_ == nullptr ? 1 : pool_->threads(); }

  // Calls work(index, worker) once for every index in [0, count), worker in [0, threads()), and returns when all are
  // done. A member takes the next index when it is free; alone, the caller goes through them in order.
  void ForEach(int64_t count, const std::function<void(int64_t index, int worker)>& work) const;

  // Cuts [0, count) into at most threads() ranges of equal size, each of `least` >= 1 or more unless there is one only,
  // and calls work(begin, end) for each. Nothing for count == 0.
  void ForRanges(int64_t count, int64_t least, const std::function<void(int64_t begin, int64_t end)>& work) const;

 private:
  ThreadPool* pool_ = nullptr;
};

}  // namespace reprise

#endif  // CORE_PARALLEL_TEAM_H_
