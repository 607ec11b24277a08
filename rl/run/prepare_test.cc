#include "rl/run/prepare.h"

#include <sched.h>

#include <thread>

#include "core/machine/processors.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

TEST(ThreadsOfTest, RanksShareTheProcessorsThatTheyMayUse) {
  ExecutionConfig execution;
  execution.threads = 0;
  EXPECT_EQ(ChooseThreads(execution, 1), UsableProcessors());
  EXPECT_EQ(ChooseThreads(execution, 100000), 1);
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(::sched_getcpu()), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(ChooseThreads(execution, 1), 1);
  }).join();
  execution.threads = 5;
  EXPECT_EQ(ChooseThreads(execution, 4), 5);
}

}  // namespace
}  // namespace reprise::rl
