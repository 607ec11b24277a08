#include "core/comm/exchange/shard_tree.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "core/comm/testing/shard_tree_testing.h"
#include "core/parallel/thread_pool.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::AddOneByOne;
using ::reprise::testing::BitsOf;
using ::reprise::testing::PairwiseTree;
using ::reprise::testing::ShardGradient;

constexpr int64_t kSize = 37;

Tensor GradientOf(int shard, BufferPool* pool) {
  Tensor buffer = pool->Acquire();
  const std::vector<float> gradient = ShardGradient(/*seed=*/1, shard, pool->size());
  std::copy(gradient.begin(), gradient.end(), buffer.mutable_data<float>().begin());
  return buffer;
}

// Takes the sums, compares their bits with the plain tree's and releases them.
bool TakesTheTreesBits(ShardTreeAccumulator* accumulator, const std::vector<TreeNode>& expected, BufferPool* pool) {
  std::vector<SubtreeSum> sums = accumulator->Take();
  bool equal = sums.size() == expected.size();
  for (size_t i = 0; i < sums.size(); ++i) {
    const std::vector<float> tree = PairwiseTree(1, sums[i].node.begin(), sums[i].node.end(), pool->size());
    const auto sum = sums[i].sum.data<float>();
    equal = equal && sums[i].node == expected[i] && BitsOf({sum.begin(), sum.end()}) == BitsOf(tree);
    pool->Release(std::move(sums[i].sum));
  }
  return equal;
}

RC_GTEST_PROP(ShardTreeAccumulatorTest, BitsDoNotDependOnTheOrderOfCompletion, ()) {
  const int shards = 1 << *rc::gen::inRange(0, 6);
  const ShardMap map = *ShardMap::Create(shards, *rc::gen::inRange(1, shards + 1));
  const int rank = *rc::gen::inRange(0, map.ranks());
  BufferPool pool(kSize);
  ShardTreeAccumulator accumulator(map, rank, &pool, AddOneByOne);
  for (int step = 0; step < 2; ++step) {  // the second shows that Take leaves no state behind
    std::vector<int> order = map.ComputationOrder(rank);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[*rc::gen::inRange<size_t>(0, i)]);
    for (int shard : order) accumulator.Complete(shard, GradientOf(shard, &pool));
    RC_ASSERT(TakesTheTreesBits(&accumulator, map.SubtreesOf(rank), &pool));
  }
}

TEST(ShardTreeAccumulatorTest, BitsDoNotDependOnThreads) {
  const ShardMap map = *ShardMap::Create(64, 3);
  for (int threads : {1, 2, 4, 8}) {
    ThreadPool workers(threads);
    for (int rank = 0; rank < map.ranks(); ++rank) {
      const std::vector<int> shards = map.ComputationOrder(rank);
      BufferPool pool(kSize);
      ShardTreeAccumulator accumulator(map, rank, &pool, AddOneByOne);
      for (int step = 0; step < 10; ++step) {
        workers.ForEach(static_cast<int64_t>(shards.size()), [&](int64_t index, int) {
          const int shard = shards[index];
          accumulator.Complete(shard, GradientOf(shard, &pool));
        });
        EXPECT_TRUE(TakesTheTreesBits(&accumulator, map.SubtreesOf(rank), &pool)) << threads << " threads";
      }
    }
  }
}

// Shards finish one part at a time in turn: a part is final with its last shard, and no sooner.
RC_GTEST_PROP(ShardTreeAccumulatorTest, PartsAreFinalWhenAllShardsHaveFinishedThem, ()) {
  const int shards = 1 << *rc::gen::inRange(0, 5);
  const ShardMap map = *ShardMap::Create(shards, *rc::gen::inRange(1, shards + 1));
  const int rank = *rc::gen::inRange(0, map.ranks());
  const ShardRange range = map.ShardsOf(rank);
  BufferPool pool(kSize);
  const std::vector<FlatRange> parts = {{20, 17}, {0, 5}, {5, 15}};
  ShardTreeAccumulator accumulator(map, rank, &pool, AddOneByOne, parts);
  std::vector<std::pair<int, int>> turns;
  for (int shard = range.begin; shard < range.end; ++shard) {
    accumulator.Start(shard, GradientOf(shard, &pool));
    for (int part = 0; part < 3; ++part) turns.emplace_back(shard, part);
  }
  for (size_t i = turns.size(); i > 1; --i) std::swap(turns[i - 1], turns[*rc::gen::inRange<size_t>(0, i)]);
  std::vector<int> left(3, range.end - range.begin);
  for (const auto& [shard, part] : turns) {
    const bool is_last = --left[part] == 0;
    RC_ASSERT(accumulator.FinishPart(shard, part) == is_last);
    if (!is_last) continue;
    const std::vector<TreeNode> nodes = map.SubtreesOf(rank);
    const std::vector<float*> sums = accumulator.Sums();
    for (size_t i = 0; i < nodes.size(); ++i) {
      const std::vector<float> tree = PairwiseTree(1, nodes[i].begin(), nodes[i].end(), kSize);
      const FlatRange at = parts[part];
      const std::vector<float> expected(tree.begin() + at.offset, tree.begin() + at.offset + at.size);
      RC_ASSERT(BitsOf({sums[i] + at.offset, sums[i] + at.offset + at.size}) == BitsOf(expected));
    }
  }
  RC_ASSERT(TakesTheTreesBits(&accumulator, map.SubtreesOf(rank), &pool));
}

TEST(ShardTreeAccumulatorTest, TreeDiffersFromTheSumInShardOrder) {
  std::vector<float> in_order = ShardGradient(1, 0, kSize);
  for (int shard = 1; shard < 8; ++shard) AddOneByOne(kSize, ShardGradient(1, shard, kSize).data(), in_order.data());
  EXPECT_NE(BitsOf(in_order), BitsOf(PairwiseTree(1, 0, 8, kSize)));
}

TEST(ShardTreeAccumulatorTest, ComputationOrderNeedsOneBufferAndOneForEachLevel) {
  for (int levels = 0; levels <= 7; ++levels) {
    const int shards = 1 << levels;
    int64_t most = 0;
    for (int ranks = 1; ranks <= shards; ++ranks) {
      const ShardMap map = *ShardMap::Create(shards, ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        BufferPool pool(1);
        ShardTreeAccumulator accumulator(map, rank, &pool, AddOneByOne);
        for (int shard : map.ComputationOrder(rank)) accumulator.Complete(shard, pool.Acquire());
        EXPECT_LE(pool.allocated(), 1 + levels) << shards << " shards, rank " << rank << " of " << ranks;
        most = std::max(most, pool.allocated());
        for (SubtreeSum& sum : accumulator.Take()) pool.Release(std::move(sum.sum));
      }
    }
    EXPECT_EQ(most, 1 + levels);  // one rank needs all of them
  }
}

TEST(ShardTreeAccumulatorDeathTest, MisuseIsABug) {
  const ShardMap map = *ShardMap::Create(4, 2);
  BufferPool pool(1);
  ShardTreeAccumulator accumulator(map, /*rank=*/1, &pool, AddOneByOne);
  EXPECT_DEATH(accumulator.Complete(1, pool.Acquire()), "CHECK failed");  // rank 0's shard
  accumulator.Complete(2, pool.Acquire());
  EXPECT_DEATH(accumulator.Complete(2, pool.Acquire()), "CHECK failed");  // twice
  EXPECT_DEATH(accumulator.Take(), "CHECK failed");                       // shard 3 is missing
}

}  // namespace
}  // namespace reprise
