#ifndef CORE_PARALLEL_ACTIVITY_H_
#define CORE_PARALLEL_ACTIVITY_H_

// A sign of life of this process: whoever finishes a piece of work marks it, and a watchdog takes the mark from time to
// time. A phase that takes long is hung only if nothing is marked. Nothing that a program computes depends on it.

#include <atomic>

namespace reprise {
namespace internal {
inline std::atomic<bool> activity_mark{false};
}  // namespace internal

// Marks that a piece of work was done: a part of a loop over threads, a file's bytes, the wait for a reply that has a
// time limit of its own. Thread-safe; takes less than a nanosecond where the mark is already set.
inline void MarkActivity() {
  if (!internal::activity_mark.load(std::memory_order_relaxed)) {
    internal::activity_mark.store(true, std::memory_order_relaxed);
  }
}

// Returns whether work was done since the last call, by any thread of this process, and removes the mark. Thread-safe.
inline bool TakeActivity() { return internal::activity_mark.exchange(false, std::memory_order_relaxed); }

}  // namespace reprise

#endif  // CORE_PARALLEL_ACTIVITY_H_
