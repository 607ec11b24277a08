#ifndef CORE_PARALLEL_HELPERS_H_
#define CORE_PARALLEL_HELPERS_H_

// Workers that have no task of their own any more help those that still have one, piece by piece: few tasks, or tasks
// of unequal length, leave no worker idle. As long as all have tasks, nobody pays for it.

#include <cstdint>
#include <functional>
#include <memory>

#include "core/parallel/thread_pool.h"

namespace reprise {

class Helpers {
 public:
  // The pool must outlive this.
  explicit Helpers(ThreadPool& pool);
  ~Helpers();

  int workers() const { return pool_.threads(); }

  // Calls tasks(worker) once on every worker of the pool; those that return take part in the pieces of the others.
  // Returns when all have returned. The caller, who is worker 0, calls `meanwhile` (if not null) again and again while
  // it has nothing to help with.
  void Run(const std::function<void(int worker)>& tasks, const std::function<void()>& meanwhile = nullptr);

  // Pieces that were done by another worker than the one whose they were, since the start.
  int64_t helped() const;

  // How many can take part in pieces that begin now, the caller included.
  int Available() const;

  // From tasks(worker): calls piece(index, member) once for every index in [0, count), `member` the worker that does
  // it, and returns when all are done. Pieces must not call this.
  void ForEach(int worker, int64_t count, const std::function<void(int64_t index, int member)>& piece);

 private:
  struct Work;
  void HelpOthers(int worker, const std::function<void()>& meanwhile);
  bool Join(int member, Work& work);

  ThreadPool& pool_;
  std::unique_ptr<Work[]> work_;  // one a worker
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise

#endif  // CORE_PARALLEL_HELPERS_H_
