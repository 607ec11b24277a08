// Tests the traffic that a communicator counts, for each function.

#include <functional>
#include <numeric>
#include <vector>

#include "core/comm/communicator.h"
#include "core/comm/self_communicator.h"
#include "core/comm/testing/thread_communicator.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

constexpr int kRanks = 3;

// Traffic of each rank after `work`.
std::vector<Traffic> TrafficOf(const std::function<absl::Status(Communicator&)>& work) {
  std::vector<Traffic> traffic(kRanks);
  EXPECT_OK(RunAsRanks(kRanks, [&](Communicator& comm) {
    RETURN_IF_ERROR(work(comm));
    traffic[comm.rank()] = comm.traffic();
    return absl::OkStatus();
  }));
  return traffic;
}

void ExpectTraffic(const Traffic& actual, int64_t messages, int64_t bytes, int64_t collectives) {
  EXPECT_EQ(actual.messages, messages);
  EXPECT_EQ(actual.bytes, bytes);
  EXPECT_EQ(actual.collectives, collectives);
}

// Gathers r + 1 bytes from rank r.
absl::Status GatherAll(Communicator& comm) {
  std::vector<int64_t> counts(static_cast<size_t>(comm.size()));
  std::iota(counts.begin(), counts.end(), 1);
  const std::vector<std::byte> send(static_cast<size_t>(comm.rank()) + 1);
  std::vector<std::byte> receive(static_cast<size_t>(std::accumulate(counts.begin(), counts.end(), int64_t{0})));
  return comm.Allgatherv(send, counts, absl::MakeSpan(receive));
}

TEST(TrafficTest, AnAllgathervForwardsAllBlocksButTheNeighboursAlongTheRing) {
  const std::vector<Traffic> traffic = TrafficOf(GatherAll);
  ExpectTraffic(traffic[0], 2, 1 + 3, 1);
  ExpectTraffic(traffic[1], 2, 1 + 2, 1);
  ExpectTraffic(traffic[2], 2, 2 + 3, 1);
}

TEST(TrafficTest, ABroadcastIsOneMessageFromItsRootToEachOtherRank) {
  const std::vector<Traffic> traffic = TrafficOf([](Communicator& comm) {
    std::vector<std::byte> bytes(5);
    return comm.Broadcast(1, absl::MakeSpan(bytes));
  });
  ExpectTraffic(traffic[0], 0, 0, 1);
  ExpectTraffic(traffic[1], 2, 10, 1);
}

TEST(TrafficTest, AnEmptyBlockIsNoMessageButTheCallCounts) {
  const std::vector<Traffic> traffic = TrafficOf([](Communicator& comm) {
    const std::vector<int64_t> counts(kRanks);
    return comm.Alltoallv({}, counts, {}, counts);
  });
  for (const Traffic& rank : traffic) ExpectTraffic(rank, 0, 0, 1);
}

TEST(TrafficTest, ASumInAnyOrderIsCountedAsARingWhateverTheImplementation) {
  constexpr int64_t kFloats = 9000;
  const std::vector<Traffic> traffic = TrafficOf([](Communicator& comm) {
    std::vector<float> values(kFloats, 1.0f);
    RETURN_IF_ERROR(comm.SumInAnyOrder(absl::MakeSpan(values)));
    EXPECT_EQ(values.back(), kRanks);
    return absl::OkStatus();
  });
  for (const Traffic& rank : traffic) ExpectTraffic(rank, 2 * (kRanks - 1), 8 * kFloats * (kRanks - 1) / kRanks, 1);
}

TEST(TrafficTest, ExchangeTrafficIsAlsoCountedSeparately) {
  EXPECT_OK(RunAsRanks(kRanks, [](Communicator& comm) {
    RETURN_IF_ERROR(GatherAll(comm));
    const Traffic before = comm.traffic();
    {
      const ExchangeScope scope(comm);
      RETURN_IF_ERROR(GatherAll(comm));
    }
    RETURN_IF_ERROR(GatherAll(comm));
    ExpectTraffic(comm.exchange_traffic(), before.messages, before.bytes, 1);
    ExpectTraffic(comm.traffic(), 3 * before.messages, 3 * before.bytes, 3);
    return absl::OkStatus();
  }));
}

TEST(TrafficTest, OneRankSendsAndCallsNothing) {
  SelfCommunicator comm;
  EXPECT_OK(GatherAll(comm));
  ExpectTraffic(comm.traffic(), 0, 0, 0);
}

}  // namespace
}  // namespace reprise
