#include "core/parallel/thread_pool.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "core/testing/sanitizers.h"
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
        ++runs[index];
      });
      for (const auto& run : runs) EXPECT_EQ(run.load(), 1);
    }
  }
}

TEST(ThreadPoolTest, CallsEveryWorkerOncePerRoundOverManyRounds) {
  ThreadPool pool(3);
  std::vector<int> calls(3);  // one element per worker: no two threads share one
  for (int round = 0; round < 2000; ++round) {
    pool.OnEveryWorker([&](int worker) { ++calls[worker]; });
  }
  EXPECT_EQ(calls, (std::vector<int>{2000, 2000, 2000}));
}

// Returns the processor time that a pool's caller takes while it waits for the other worker, which is asleep.
double SecondsOfWaiting() {
  ThreadPool pool(2);
  timespec begin, end;
  EXPECT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin), 0);
  for (int round = 0; round < 50; ++round) {
    pool.OnEveryWorker([](int worker) {
      if (worker == 1) usleep(2000);
    });
  }
  EXPECT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end), 0);
  return static_cast<double>(end.tv_sec - begin.tv_sec) + 1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
}

TEST(ThreadPoolTest, AWaitingCallerLeavesItsProcessorToOthersWhereThreadsAreTooMany) {
  const unsigned processors = std::thread::hardware_concurrency();
  if (processors < 2) GTEST_SKIP() << "two threads are too many here";
  const double alone = SecondsOfWaiting();
  const ThreadPool others(static_cast<int>(processors));
  EXPECT_LT(SecondsOfWaiting(), alone / 2);
}

TEST(ThreadPoolTest, CanBeDestroyedWithoutAnyWork) { ThreadPool pool(4); }

// Runs in its own process, whose address space is limited.
TEST(ThreadPoolTest, ReportsThatTheSystemCannotStartMoreThreads) {
  if (testing::kHasShadowMemory) GTEST_SKIP() << "the sanitizer needs the address space that this limits";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {.rlim_cur = rlim_t{1} << 30, .rlim_max = rlim_t{1} << 30};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    const absl::StatusOr<std::unique_ptr<ThreadPool>> pool = ThreadPool::Create(1024);
    const bool said =
        absl::IsResourceExhausted(pool.status()) && absl::StrContains(pool.status().message(), " of 1024 threads (");
    // The threads that were started have ended, so that new ones can be started.
    _exit(said && ThreadPool::Create(4).ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace reprise
