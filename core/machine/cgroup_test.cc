#include "core/machine/cgroup.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace reprise {
namespace {

constexpr int64_t kNoMemoryLimit = std::numeric_limits<int64_t>::max();
constexpr double kNoProcessorLimit = std::numeric_limits<double>::infinity();

// A machine's files in a folder.
class CgroupTest : public ::testing::Test {
 protected:
  CgroupTest() : root_(::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(root_);
  }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }

  const std::string root_;
};

TEST_F(CgroupTest, TheSmallestLimitOfVersion2IsThatOfAnyGroupAbove) {
  Write("/proc/self/cgroup", "0::/slurm/job_7/step_0");
  Write("/proc/self/mountinfo", "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate");
  Write("/sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max");
  Write("/sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "400000 100000");
  Write("/sys/fs/cgroup/slurm/job_7/memory.max", "4294967296");
  Write("/sys/fs/cgroup/slurm/job_7/cpu.max", "150000 100000");
  Write("/sys/fs/cgroup/slurm/memory.max", "8589934592");
  Write("/sys/fs/cgroup/slurm/cpu.max", "max 100000");
  const CgroupLimits limits = ReadCgroupLimits(root_);
  EXPECT_EQ(limits.memory_bytes, int64_t{4} << 30);
  EXPECT_EQ(limits.processors, 1.5);
}

TEST_F(CgroupTest, Version1HasAHierarchyForEachController) {
  Write("/proc/self/cgroup", "5:memory:/a/b\n4:cpu,cpuacct:/c\n1:name=systemd:/d\n0::/");
  Write("/proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw");
  Write("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712");
  Write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2147483648");
  Write("/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "300000");
  Write("/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  const CgroupLimits limits = ReadCgroupLimits(root_);
  EXPECT_EQ(limits.memory_bytes, int64_t{2} << 30);
  EXPECT_EQ(limits.processors, 3);
}

TEST_F(CgroupTest, AContainerSeesItsOwnGroupAtTheTop) {
  Write("/proc/self/cgroup", "0::/docker/4f3a");
  Write("/proc/self/mountinfo", "35 24 0:30 /docker/4f3a /sys/fs/cgroup ro - cgroup2 cgroup rw");
  Write("/sys/fs/cgroup/memory.max", "1073741824");
  Write("/sys/fs/cgroup/cpu.max", "50000 100000");
  EXPECT_EQ(ReadCgroupLimits(root_).memory_bytes, int64_t{1} << 30);
  EXPECT_EQ(ReadCgroupLimits(root_).processors, 0.5);
  // The group's name is that of the host, of which nothing is visible.
  Write("/proc/self/cgroup", "0::/../../kubepods/pod1");
  Write("/proc/self/mountinfo", "35 24 0:30 /another /sys/fs/cgroup ro - cgroup2 cgroup rw");
  EXPECT_EQ(ReadCgroupLimits(root_).memory_bytes, int64_t{1} << 30);
}

TEST_F(CgroupTest, WhatCannotBeReadIsNoLimit) {
  for (const char* const mountinfo : {"", "35 24", "35 24 0:30 / /sys/fs/cgroup rw - cgroup2", "a - cgroup2 b c"}) {
    Write("/proc/self/cgroup", "0::/a\nnonsense");
    Write("/proc/self/mountinfo", mountinfo);
    EXPECT_EQ(ReadCgroupLimits(root_).memory_bytes, kNoMemoryLimit);
    EXPECT_EQ(ReadCgroupLimits(root_).processors, kNoProcessorLimit);
  }
  Write("/proc/self/mountinfo", "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup rw");
  for (const char* const text : {"", "0", "-1", "many", "99999999999999999999"}) {
    Write("/sys/fs/cgroup/a/memory.max", text);
    Write("/sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(ReadCgroupLimits(root_).memory_bytes, kNoMemoryLimit);
    EXPECT_EQ(ReadCgroupLimits(root_).processors, kNoProcessorLimit);
  }
}

TEST_F(CgroupTest, AMachineWithoutControlGroupsHasNoLimits) {
  EXPECT_EQ(ReadCgroupLimits(root_).memory_bytes, kNoMemoryLimit);
  EXPECT_EQ(ReadCgroupLimits(root_).processors, kNoProcessorLimit);
}

}  // namespace
}  // namespace reprise
