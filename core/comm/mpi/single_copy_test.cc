#include "core/comm/mpi/single_copy.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace reprise {
namespace {

constexpr char kOpenMpi4[] = "OMPI_MCA_btl_vader_single_copy_mechanism", kOpenMpi5[] = "OMPI_MCA_smsc";

// What the kernel's call does: 0, or the error with which a container refuses it.
int refusal = 0;
pid_t asked = 0;  // the process whose memory was to be read

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "unset" : value;
}

class SingleCopyTest : public ::testing::Test {
 protected:
  SingleCopyTest() {
    ::unsetenv(kOpenMpi4);
    ::unsetenv(kOpenMpi5);
  }
};

TEST_F(SingleCopyTest, WhereTheCallIsRefusedRanksCopyThroughSharedMemory) {
  for (const int error : {EPERM, ENOSYS}) {
    refusal = error;
    EXPECT_FALSE(CanReadOtherProcesses());
    ChooseHowRanksCopy();
    EXPECT_EQ(Variable(kOpenMpi4), "none");
    EXPECT_EQ(Variable(kOpenMpi5), "^cma");
  }
}

TEST_F(SingleCopyTest, WhereTheCallWorksOpenMpiChooses) {
  refusal = 0;
  EXPECT_TRUE(CanReadOtherProcesses());
  EXPECT_GT(asked, 0);
  EXPECT_NE(asked, ::getpid());
  ChooseHowRanksCopy();
  EXPECT_EQ(Variable(kOpenMpi4), "unset");
  EXPECT_EQ(Variable(kOpenMpi5), "unset");
}

TEST_F(SingleCopyTest, AnOwnChoiceIsKept) {
  refusal = EPERM;
  ::setenv(kOpenMpi4, "knem", 1);
  ChooseHowRanksCopy();
  EXPECT_EQ(Variable(kOpenMpi4), "knem");
  EXPECT_EQ(Variable(kOpenMpi5), "unset");
}

}  // namespace
}  // namespace reprise

// Takes the place of libc's: a sandbox in which this test is executed may refuse the kernel's. At the same address a
// forked child has the same bytes.
extern "C" ssize_t process_vm_readv(pid_t process, const iovec* here, unsigned long, const iovec* there, unsigned long,
                                    unsigned long) noexcept {
  reprise::asked = process;
  errno = reprise::refusal;
  if (reprise::refusal != 0) return -1;
  *static_cast<char*>(here->iov_base) = *static_cast<const char*>(there->iov_base);
  return 1;
}
