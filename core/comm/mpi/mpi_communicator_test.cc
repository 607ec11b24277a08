#include "core/comm/mpi/mpi_communicator.h"

#include <sched.h>

#include <vector>

#include "core/comm/testing/conformance.h"
#include "core/comm/testing/mpi_test_world.h"
#include "core/machine/processors.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::ConformanceCase;
using ::reprise::testing::ConformanceCases;
using ::reprise::testing::MpiTestWorld;
using ::reprise::testing::StatusIs;

class MpiConformanceTest : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(MpiConformanceTest, Holds) { GetParam().run(MpiTestWorld()); }

// The code path of arrays over 1 GiB: many messages per block, a shorter last one, and the ring.
TEST_P(MpiConformanceTest, HoldsInSmallChunks) {
  ASSERT_OK_AND_ASSIGN(auto chunked, MpiCommunicator::Create(MPI_COMM_WORLD, /*chunk_bytes=*/999));
  GetParam().run(*chunked);
}

INSTANTIATE_TEST_SUITE_P(All, MpiConformanceTest, ::testing::ValuesIn(ConformanceCases()),
                         [](const auto& test) { return std::string(test.param.name); });

// Binds the calling thread to one of the processors that it may use, counted around.
void BindTo(int number, const ProcessorMask& allowed) {
  std::vector<size_t> processors;
  for (size_t i = 0; i < 64 * allowed.size(); ++i) {
    if ((allowed[i / 64] >> (i % 64) & 1) != 0) processors.push_back(i);
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processors[static_cast<size_t>(number) % processors.size()], &set);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(set), &set), 0);
}

TEST(MpiCommunicatorTest, CountsTheRanksWithWhichItSharesProcessors) {
  const ProcessorMask allowed = AllowedProcessors();
  const int processors = UsableProcessors(), rank = MpiTestWorld().rank(), size = MpiTestWorld().size();
  BindTo(rank % 2, allowed);
  ASSERT_OK_AND_ASSIGN(const auto bound, MpiCommunicator::Create(MPI_COMM_WORLD));
  ASSERT_EQ(::sched_setaffinity(0, sizeof(allowed), reinterpret_cast<const cpu_set_t*>(allowed.data())), 0);
  ASSERT_OK_AND_ASSIGN(const auto free, MpiCommunicator::Create(MPI_COMM_WORLD));
  EXPECT_EQ(free->ranks_on_this_machine(), size);
  const int of_the_same_parity = (size + 1 - rank % 2) / 2;
  EXPECT_EQ(bound->ranks_on_this_machine(), processors > 1 ? of_the_same_parity : size);
}

// Rank 1 expects less, or more, than rank 0 sends it.
TEST(MpiCommunicatorTest, CountsThatDoNotMatchAreAnInternalError) {
  if (MpiTestWorld().size() < 2) GTEST_SKIP() << "needs two ranks";
  for (int64_t expected : {3, 5}) {
    ASSERT_OK_AND_ASSIGN(auto comm, MpiCommunicator::Create(MPI_COMM_WORLD));
    std::vector<int64_t> send_counts(static_cast<size_t>(comm->size())), receive_counts = send_counts;
    if (comm->rank() == 0) send_counts[1] = 4;
    if (comm->rank() == 1) receive_counts[0] = expected;
    const std::vector<std::byte> send(comm->rank() == 0 ? 4 : 0);
    std::vector<std::byte> receive(comm->rank() == 1 ? static_cast<size_t>(expected) : 0);
    const absl::Status status = comm->Alltoallv(send, send_counts, absl::MakeSpan(receive), receive_counts);
    EXPECT_EQ(status.code(), comm->rank() == 1 ? absl::StatusCode::kInternal : absl::StatusCode::kOk) << status;
  }
}

}  // namespace
}  // namespace reprise
