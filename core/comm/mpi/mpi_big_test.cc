// Messages whose size in bytes does not fit MPI's int counts.

#include <cstring>
#include <vector>

#include "core/comm/testing/mpi_test_world.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::MpiTestWorld;

constexpr int64_t kBig = (int64_t{1} << 31) + 1;

// The byte at position i of a message; its period is prime, so that a misplaced chunk is detected.
std::byte ByteAt(int64_t i) { return static_cast<std::byte>(i % 251); }

std::vector<std::byte> BigMessage() {
  std::vector<std::byte> bytes(static_cast<size_t>(kBig));
  for (int64_t i = 0; i < kBig; ++i) bytes[i] = ByteAt(i);
  return bytes;
}

bool IsBigMessage(const std::byte* bytes) {
  for (int64_t i = 0; i < kBig; ++i) {
    if (bytes[i] != ByteAt(i)) return false;
  }
  return true;
}

TEST(MpiBigTest, BroadcastCarriesMoreThanTwoGibibytes) {
  Communicator& comm = MpiTestWorld();
  std::vector<std::byte> bytes =
      comm.rank() == 0 ? BigMessage() : std::vector<std::byte>(static_cast<size_t>(kBig), std::byte{0xFF});
  ASSERT_OK(comm.Broadcast(0, absl::MakeSpan(bytes)));
  EXPECT_TRUE(IsBigMessage(bytes.data()));
}

TEST(MpiBigTest, AllgathervAndAlltoallvCarryMoreThanTwoGibibytes) {
  Communicator& comm = MpiTestWorld();
  const int last = comm.size() - 1;
  std::vector<int64_t> counts(static_cast<size_t>(comm.size()));
  counts[last] = kBig;  // the last rank's block, to all
  const std::vector<std::byte> send = comm.rank() == last ? BigMessage() : std::vector<std::byte>();
  std::vector<std::byte> receive(static_cast<size_t>(kBig), std::byte{0xFF});
  ASSERT_OK(comm.Allgatherv(send, counts, absl::MakeSpan(receive)));
  EXPECT_TRUE(IsBigMessage(receive.data()));

  std::fill(receive.begin(), receive.end(), std::byte{0xFF});
  std::vector<int64_t> none(counts.size()), to_first(counts.size());
  to_first[0] = kBig;
  if (comm.rank() != 0) receive.clear();
  ASSERT_OK(comm.Alltoallv(send, comm.rank() == last ? to_first : none, absl::MakeSpan(receive),
                           comm.rank() == 0 ? counts : none));
  EXPECT_TRUE(comm.rank() != 0 || IsBigMessage(receive.data()));
}

}  // namespace
}  // namespace reprise
