#include "core/parallel/thread_pool.h"

#include <atomic>
#include <vector>

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(ThreadPoolTest, RunsEveryIndexOnceForAnyNumberOfThreads) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
      pool.ForEach(count, [&](int64_t index, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, threads);
        ++runs[static_cast<size_t>(index)];
      });
      for (const auto& run : runs) EXPECT_EQ(run.load(), 1);
    }
  }
}

TEST(ThreadPoolTest, CallsEveryWorkerOnceARoundOverManyRounds) {
  ThreadPool pool(3);
  std::vector<int> calls(3);  // one element a worker: no two threads share one
  for (int round = 0; round < 2000; ++round) {
    pool.OnEveryWorker([&](int worker) { ++calls[static_cast<size_t>(worker)]; });
  }
  EXPECT_EQ(calls, (std::vector<int>{2000, 2000, 2000}));
}

TEST(ThreadPoolTest, StopsWithoutHavingWorked) { ThreadPool pool(4); }

}  // namespace
}  // namespace reprise
