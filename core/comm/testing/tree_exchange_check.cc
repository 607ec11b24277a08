#include "core/comm/testing/tree_exchange_check.h"

#include <algorithm>

#include "core/comm/exchange/buffer_pool.h"
#include "core/comm/exchange/shard_map.h"
#include "core/comm/exchange/shard_tree.h"
#include "core/comm/exchange/tree_exchange.h"
#include "core/comm/testing/shard_tree_testing.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

// The value in the gaps between tensors, which no rank owns, before and after the exchange.
constexpr float kGap = -7.0f;

std::vector<float> ExpectedTotals(uint64_t seed, int shards, const std::vector<TensorExtent>& tensors, int64_t size) {
  const std::vector<float> tree = PairwiseTree(seed, 0, shards, size);
  std::vector<float> expected(static_cast<size_t>(size), kGap);
  for (const TensorExtent& tensor : tensors) {
    std::copy_n(tree.begin() + tensor.offset, tensor.size, expected.begin() + tensor.offset);
  }
  return expected;
}

}  // namespace

std::vector<TensorExtent> ExampleTensors() {
  return {{0, 130, 13, 10, /*divisible_by_rows=*/true},
          {144, 10, 1, 10},
          {160, 30, 6, 5},
          {192, 0, 0, 4},
          {192, 21, 3, 7},
          {213, 8, 8, 1}};
}

void CheckTreeExchange(Communicator& comm, uint64_t seed, int shards, int64_t floats_per_round) {
  const std::vector<TensorExtent> tensors = ExampleTensors();
  const Ownership ownership = Ownership::Deal(tensors, comm.size());
  const int64_t size = ownership.FlatEnd() + 3;
  ASSERT_OK_AND_ASSIGN(const ShardMap map, ShardMap::Create(shards, comm.size()));
  BufferPool pool(size);
  ShardTreeAccumulator accumulator(map, comm.rank(), &pool, AddOneByOne);
  TreeExchange exchange(&comm, map, ownership, BucketsOf(ownership, floats_per_round), AddOneByOne);
  for (uint64_t step = seed; step < seed + 2; ++step) {
    for (int shard : map.ComputationOrder(comm.rank())) {
      Tensor buffer = pool.Acquire();
      const std::vector<float> gradient = ShardGradient(step, shard, size);
      std::copy(gradient.begin(), gradient.end(), buffer.mutable_data<float>().begin());
      accumulator.Complete(shard, std::move(buffer));
    }
    std::vector<SubtreeSum> sums = accumulator.Take();
    ASSERT_OK(SumOwned(absl::MakeSpan(sums), &exchange));
    std::vector<float> flat(static_cast<size_t>(size), kGap);
    for (const Piece& piece : ownership.PiecesOf(comm.rank())) {
      std::copy_n(sums[0].sum.data<float>().begin() + piece.offset, piece.size, flat.begin() + piece.offset);
    }
    ASSERT_OK(exchange.AllgatherOwned(absl::MakeSpan(flat)));
    EXPECT_EQ(BitsOf(flat), BitsOf(ExpectedTotals(step, shards, tensors, size)))
        << shards << " shards, rank " << comm.rank() << " of " << comm.size();
    for (SubtreeSum& sum : sums) pool.Release(std::move(sum.sum));
  }
}

}  // namespace reprise::testing
