#include "core/machine/processors.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <thread>

#include "core/machine/cgroup.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

// The threads of a test end with their masks.
template <typename Work>
void OnOneProcessor(int processor, const Work& work) {
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(processor), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    work();
  }).join();
}

int FirstAllowed() {
  const ProcessorMask mask = AllowedProcessors();
  int word = 0;
  while (mask[word] == 0) ++word;
  return 64 * word + std::countr_zero(mask[word]);
}

TEST(ProcessorsTest, AThreadThatIsBoundToOneProcessorUsesOne) {
  const int first = FirstAllowed();
  OnOneProcessor(first, [&] {
    EXPECT_EQ(UsableProcessors(), 1);
    ProcessorMask expected = {};
    expected[static_cast<size_t>(first) / 64] = uint64_t{1} << (first % 64);
    EXPECT_EQ(AllowedProcessors(), expected);
  });
}

TEST(ProcessorsTest, ThereIsAtLeastOneAndNoMoreThanAreAllowed) {
  int allowed = 0;
  for (const uint64_t word : AllowedProcessors()) allowed += std::popcount(word);
  EXPECT_GE(UsableProcessors(), 1);
  EXPECT_LE(UsableProcessors(), allowed);
  EXPECT_LE(UsableProcessors(), std::max(1.0, ReadCgroupLimits().processors));
  EXPECT_EQ(UsableProcessors({.processors = 0.5}), 1);
  EXPECT_EQ(UsableProcessors({.processors = 1.5}), 1);
  EXPECT_EQ(UsableProcessors({.processors = allowed + 0.5}), allowed);
  EXPECT_EQ(UsableProcessors({.processors = std::max(1, allowed - 1) + 0.5}), std::max(1, allowed - 1));
  EXPECT_EQ(UsableProcessors(CgroupLimits()), allowed);
}

TEST(ProcessorsTest, MasksOverlapInAnyWord) {
  ProcessorMask a = {}, b = {};
  a[127] = b[0] = 1;
  EXPECT_FALSE(Overlap(a, b));
  b[127] = 3;
  EXPECT_TRUE(Overlap(a, b));
}

}  // namespace
}  // namespace reprise
