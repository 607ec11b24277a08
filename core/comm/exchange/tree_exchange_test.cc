#include "core/comm/exchange/tree_exchange.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/comm/self_communicator.h"
#include "core/comm/testing/shard_tree_testing.h"
#include "core/comm/testing/thread_communicator.h"
#include "core/comm/testing/tree_exchange_check.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::AddOneByOne;
using ::reprise::testing::BitsOf;
using ::reprise::testing::BucketsOf;
using ::reprise::testing::CheckTreeExchange;
using ::reprise::testing::ExampleTensors;
using ::reprise::testing::PairwiseTree;
using ::reprise::testing::SumOwned;

// Counts the bytes that a rank's calls transfer: Alltoallv's messages to other ranks, and the blocks that Allgatherv
// receives from them.
class CountingCommunicator : public Communicator {
 public:
  explicit CountingCommunicator(Communicator& inner)
      : Communicator(inner.rank(), inner.size(), inner.ranks_on_this_machine()), inner_(inner) {}

  int64_t sent = 0, received = 0, gathered = 0;
  int64_t most_staged = 0, most_gathered = 0;  // in the buffers of one call

 private:
  absl::Status DoBarrier() override { return inner_.Barrier(); }
  absl::Status DoBroadcast(int root, absl::Span<std::byte> bytes) override { return inner_.Broadcast(root, bytes); }
  absl::Status DoGatherv(int root, absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                         absl::Span<std::byte> receive) override {
    return inner_.Gatherv(root, send, counts, receive);
  }
  absl::Status DoAllgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                            absl::Span<std::byte> receive) override {
    gathered += static_cast<int64_t>(receive.size() - send.size());
    most_gathered = std::max(most_gathered, static_cast<int64_t>(receive.size() + send.size()));
    return inner_.Allgatherv(send, counts, receive);
  }
  absl::StatusOr<std::unique_ptr<PendingCollective>> DoStartAlltoallv(
      absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts, absl::Span<std::byte> receive,
      absl::Span<const int64_t> receive_counts) override {
    const size_t self = static_cast<size_t>(rank());
    sent += static_cast<int64_t>(send.size()) - send_counts[self];
    received += static_cast<int64_t>(receive.size()) - receive_counts[self];
    most_staged = std::max(most_staged, static_cast<int64_t>(receive.size() + send.size()));
    return inner_.StartAlltoallv(send, send_counts, receive, receive_counts);
  }

  absl::Status DoSumInAnyOrder(absl::Span<float> values) override { return inner_.SumInAnyOrder(values); }
  absl::StatusOr<std::unique_ptr<Communicator>> DoSplit(int color) override { return inner_.Split(color); }

  Communicator& inner_;
};

std::vector<SubtreeSum> ZeroSums(const ShardMap& map, int rank, int64_t size) {
  std::vector<SubtreeSum> sums;
  for (const TreeNode& node : map.SubtreesOf(rank)) sums.push_back({node, Tensor("", DType::kF32, {size})});
  return sums;
}

TEST(TreeExchangeTest, EveryNumberOfRanksHasTheBitsOfThePlainTree) {
  for (int shards : {1, 2, 4, 8, 16}) {
    for (int ranks = 1; ranks <= shards; ++ranks) {
      for (int64_t floats_per_round : {int64_t{1000000}, int64_t{17}}) {
        EXPECT_OK(RunAsRanks(ranks, [&](Communicator& comm) {
          CheckTreeExchange(comm, /*seed=*/static_cast<uint64_t>(100 * shards), shards, floats_per_round);
          return absl::OkStatus();
        }));
      }
    }
  }
}

RC_GTEST_PROP(TreeExchangeTest, BitsAreThePlainTreesForAnySeedAndRoundSize, ()) {
  const int shards = 1 << *rc::gen::inRange(0, 5);
  const int ranks = *rc::gen::inRange(1, shards + 1);
  const uint64_t seed = *rc::gen::arbitrary<uint32_t>();
  const int64_t floats_per_round = *rc::gen::inRange(1, 60);
  RC_ASSERT(RunAsRanks(ranks, [&](Communicator& comm) {
              CheckTreeExchange(comm, seed, shards, floats_per_round);
              return absl::OkStatus();
            }).ok());
  RC_ASSERT(!::testing::Test::HasFailure());
}

// The negative control: adding the ranks' partial sums in rank order, as a plain reduction does, gives other bits,
// which also differ between numbers of ranks.
TEST(TreeExchangeTest, SumInRankOrderHasOtherBits) {
  constexpr int kShards = 16;
  constexpr int64_t kSize = 200;
  const auto in_rank_order = [](int ranks) {
    const ShardMap map = *ShardMap::Create(kShards, ranks);
    std::vector<float> total(kSize);
    for (int rank = 0; rank < ranks; ++rank) {
      for (const TreeNode& node : map.SubtreesOf(rank)) {
        AddOneByOne(kSize, PairwiseTree(1, node.begin(), node.end(), kSize).data(), total.data());
      }
    }
    return BitsOf(total);
  };
  const std::vector<uint32_t> tree = BitsOf(PairwiseTree(1, 0, kShards, kSize));
  EXPECT_EQ(in_rank_order(1), tree);
  EXPECT_EQ(in_rank_order(2), tree);
  for (int ranks : {3, 4, 5, 8, 16}) EXPECT_NE(in_rank_order(ranks), tree) << ranks << " ranks";
  EXPECT_NE(in_rank_order(3), in_rank_order(5));
}

TEST(TreeExchangeTest, BytesOnTheWireAreThoseOfTheFormula) {
  constexpr int kShards = 16;
  for (int ranks = 1; ranks <= kShards; ++ranks) {
    const ShardMap map = *ShardMap::Create(kShards, ranks);
    const Ownership ownership = Ownership::Deal(ExampleTensors(), ranks);
    int64_t all_floats = 0, all_subtrees = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      all_floats += ownership.FloatsOf(rank);
      all_subtrees += static_cast<int64_t>(map.SubtreesOf(rank).size());
    }
    EXPECT_OK(RunAsRanks(ranks, [&](Communicator& inner) {
      CountingCommunicator comm(inner);
      TreeExchange exchange(&comm, map, ownership, BucketsOf(ownership, 11), AddOneByOne);
      std::vector<SubtreeSum> sums = ZeroSums(map, comm.rank(), ownership.FlatEnd());
      std::vector<float> flat(static_cast<size_t>(ownership.FlatEnd()));
      EXPECT_OK(SumOwned(absl::MakeSpan(sums), &exchange));
      EXPECT_OK(exchange.AllgatherOwned(absl::MakeSpan(flat)));
      const int64_t own = ownership.FloatsOf(comm.rank()), subtrees = static_cast<int64_t>(sums.size());
      EXPECT_EQ(comm.sent, 4 * subtrees * (all_floats - own));
      EXPECT_EQ(comm.received, 4 * own * (all_subtrees - subtrees));
      EXPECT_EQ(comm.gathered, 4 * (all_floats - own));
      return absl::OkStatus();
    }));
  }
}

// The buffers are those that `validate` counts as a rank's memory.
TEST(TreeExchangeTest, BuffersAreThoseOfTheLargestBucketInTransferAndGathered) {
  for (int ranks : {1, 2, 3, 8}) {
    const ShardMap map = *ShardMap::Create(8, ranks);
    const Ownership ownership = Ownership::Deal(ExampleTensors(), ranks);
    for (int64_t floats_per_round : {int64_t{11}, int64_t{1000000}}) {
      const std::vector<ExchangeBucket> buckets = BucketsOf(ownership, floats_per_round);
      EXPECT_OK(RunAsRanks(ranks, [&](Communicator& inner) {
        CountingCommunicator comm(inner);
        TreeExchange exchange(&comm, map, ownership, buckets, AddOneByOne);
        std::vector<SubtreeSum> sums = ZeroSums(map, comm.rank(), ownership.FlatEnd());
        std::vector<float> flat(static_cast<size_t>(ownership.FlatEnd()));
        EXPECT_OK(SumOwned(absl::MakeSpan(sums), &exchange));
        EXPECT_OK(exchange.AllgatherOwned(absl::MakeSpan(flat)));
        const int64_t under_way = std::min<int64_t>(kBucketsUnderWay, static_cast<int64_t>(buckets.size()));
        EXPECT_EQ(4 * ExchangeBufferFloats(map, buckets, comm.rank()),
                  under_way * comm.most_staged + comm.most_gathered)
            << ranks << " ranks, " << floats_per_round;
        return absl::OkStatus();
      }));
    }
  }
}

TEST(TreeExchangeTest, OneRankCallsNothing) {
  const auto count_calls = [](int64_t, const float*, float*) { FAIL() << "there is nothing to add"; };
  const ShardMap map = *ShardMap::Create(8, 1);
  const Ownership ownership = Ownership::Deal(ExampleTensors(), 1);
  SelfCommunicator self;
  CountingCommunicator comm(self);
  TreeExchange exchange(&comm, map, ownership, BucketsOf(ownership, 100), count_calls);
  std::vector<SubtreeSum> sums = ZeroSums(map, 0, ownership.FlatEnd());
  EXPECT_OK(SumOwned(absl::MakeSpan(sums), &exchange));
  EXPECT_EQ(comm.sent + comm.received + comm.gathered, 0);
}

TEST(TreeExchangeTest, LostPeerIsAnErrorAndNotAHang) {
  const ShardMap map = *ShardMap::Create(4, 3);
  const Ownership ownership = Ownership::Deal(ExampleTensors(), 3);
  const absl::Status status = RunAsRanks(3, [&](Communicator& comm) -> absl::Status {
    if (comm.rank() == 1) return absl::DataLossError("torn");
    TreeExchange exchange(&comm, map, ownership, BucketsOf(ownership, 100), AddOneByOne);
    std::vector<SubtreeSum> sums = ZeroSums(map, comm.rank(), ownership.FlatEnd());
    const absl::Status lost = SumOwned(absl::MakeSpan(sums), &exchange);
    EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
    return lost;
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
}

TEST(TreeExchangeTest, RanksThatOnlyCallProgressDetectALostPeer) {
  const ShardMap map = *ShardMap::Create(4, 3);
  const Ownership ownership = Ownership::Deal(ExampleTensors(), 3);
  const absl::Status status = RunAsRanks(3, [&](Communicator& comm) -> absl::Status {
    if (comm.rank() == 1) return absl::DataLossError("torn");
    BucketSum sum(&comm, map, BucketsOf(ownership, 100), AddOneByOne);
    std::vector<SubtreeSum> sums = ZeroSums(map, comm.rank(), ownership.FlatEnd());
    std::vector<float*> mine;
    for (SubtreeSum& subtree : sums) mine.push_back(subtree.sum.mutable_data<float>().data());
    absl::Status lost = sum.Start(mine);
    while (lost.ok()) lost = sum.Progress();
    EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
    return lost;
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace reprise
