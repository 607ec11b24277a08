#include "core/machine/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/machine/cgroup.h"
#include "core/testing/sanitizers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::kHasShadowMemory;

class CacheSizeTest : public ::testing::Test {
 protected:
  CacheSizeTest()
      : folder_(::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
  }

  void Describe(int index, const std::string& level, const std::string& size) {
    const std::string cache = folder_ + "/index" + std::to_string(index);
    std::filesystem::create_directories(cache);
    std::ofstream(cache + "/level") << level << "\n";
    std::ofstream(cache + "/size") << size << "\n";
  }

  const std::string folder_;
};

TEST_F(CacheSizeTest, IsThatOfTheHighestLevelWhateverItsIndex) {
  Describe(0, "1", "48K");
  Describe(1, "3", "384M");
  Describe(2, "2", "1024K");
  EXPECT_EQ(LargestLevelIn(folder_), int64_t{384} << 20);
}

TEST_F(CacheSizeTest, IgnoresInvalidSizes) {
  Describe(0, "1", "32K");
  Describe(1, "2", "unknown");
  Describe(2, "3", "0K");
  Describe(3, "4", "9223372036854775807K");
  EXPECT_EQ(LargestLevelIn(folder_), 32 << 10);
}

TEST_F(CacheSizeTest, IsUnknownWithoutADescription) { EXPECT_EQ(LargestLevelIn(folder_), 0); }

TEST_F(CacheSizeTest, ThisMachineHasOneAndItStaysTheSame) {
  const int64_t bytes = LastLevelCacheBytes();
  EXPECT_GE(bytes, 1 << 15);
  EXPECT_EQ(LastLevelCacheBytes(), bytes);
}

TEST(UsableMemoryTest, IsNoMoreThanTheMachineHasOrTheControlGroupsAllow) {
  EXPECT_GT(UsableMemoryBytes(), 0);
  EXPECT_LE(UsableMemoryBytes(), int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE));
  EXPECT_LE(UsableMemoryBytes(), ReadCgroupLimits().memory_bytes);
  EXPECT_EQ(UsableMemoryBytes({.memory_bytes = 1 << 20}), 1 << 20);
}

TEST(UsableMemoryTest, IsNoMoreThanTheAddressSpaceMayBe) {
  if (kHasShadowMemory) GTEST_SKIP() << "the sanitizer's address space is larger";
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit limit = {rlim_t{1} << 29, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  EXPECT_EQ(UsableMemoryBytes(), int64_t{1} << 29);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

TEST(PeakMemoryTest, GrowsWithWhatIsTouched) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  const int64_t before = PeakMemoryBytes();
  EXPECT_GT(before, 0);
  const std::vector<char> touched(kBytes, 1);
  EXPECT_EQ(touched.back(), 1);
  EXPECT_GE(PeakMemoryBytes(), before + kBytes / 2);
}

}  // namespace
}  // namespace reprise
