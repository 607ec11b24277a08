#include "core/comm/exchange/shard_map.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

ShardMap AnyMap() {
  const int shards = 1 << *rc::gen::inRange(0, 11);
  return *ShardMap::Create(shards, *rc::gen::inRange(1, shards + 1));
}

bool Covers(const ShardRange& block, const TreeNode& node) {
  return block.begin <= node.begin() && node.end() <= block.end;
}

TEST(ShardMapTest, AssignsEightShardsToThreeRanksAsInTheDesign) {
  ASSERT_OK_AND_ASSIGN(const ShardMap map, ShardMap::Create(8, 3));
  // Blocks [0, 2), [2, 5), [5, 8).
  EXPECT_EQ(map.SubtreesOf(0), (std::vector<TreeNode>{{1, 0}}));
  EXPECT_EQ(map.SubtreesOf(1), (std::vector<TreeNode>{{1, 1}, {0, 4}}));
  EXPECT_EQ(map.SubtreesOf(2), (std::vector<TreeNode>{{0, 5}, {1, 3}}));
}

TEST(ShardMapTest, RefusesANumberOfShardsThatIsNotAPowerOfTwo) {
  for (int shards : {-8, 0, 3, 6, 12, 1 << 21}) {
    EXPECT_THAT(ShardMap::Create(shards, 1), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("power of two")));
  }
}

TEST(ShardMapTest, RefusesMoreRanksThanShards) {
  EXPECT_OK(ShardMap::Create(8, 8));
  for (int ranks : {-1, 0, 9}) {
    EXPECT_THAT(ShardMap::Create(8, ranks),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("use 1 to 8 ranks")));
  }
}

RC_GTEST_PROP(ShardMapTest, BlocksPartitionTheShards, ()) {
  const ShardMap map = AnyMap();
  int next = 0;
  for (int rank = 0; rank < map.ranks(); ++rank) {
    const ShardRange block = map.ShardsOf(rank);
    RC_ASSERT(block.begin == next);
    RC_ASSERT(block.end > block.begin);
    RC_ASSERT(block.end - block.begin <= map.shards() / map.ranks() + 1);
    for (int shard = block.begin; shard < block.end; ++shard) RC_ASSERT(map.RankOf(shard) == rank);
    next = block.end;
  }
  RC_ASSERT(next == map.shards());
}

RC_GTEST_PROP(ShardMapTest, SubtreesCutTheirBlockIntoAlignedDisjointPieces, ()) {
  const ShardMap map = AnyMap();
  const int levels = std::countr_zero(static_cast<unsigned>(map.shards()));
  for (int rank = 0; rank < map.ranks(); ++rank) {
    const ShardRange block = map.ShardsOf(rank);
    int next = block.begin;
    const std::vector<TreeNode> nodes = map.SubtreesOf(rank);
    for (const TreeNode& node : nodes) {
      RC_ASSERT(node.begin() == next);
      RC_ASSERT(node.begin() % (1 << node.level) == 0);
      RC_ASSERT(node.level >= 0 && node.level <= levels);
      next = node.end();
    }
    RC_ASSERT(next == block.end);
    RC_ASSERT(nodes.size() <= static_cast<size_t>(std::max(1, levels)));
    RC_ASSERT(nodes.size() == 1u || !std::has_single_bit(static_cast<unsigned>(map.ranks())));
  }
}

RC_GTEST_PROP(ShardMapTest, ComputationOrderTakesEachShardOfTheBlockOnceAndBigSubtreesFirst, ()) {
  const ShardMap map = AnyMap();
  const int rank = *rc::gen::inRange(0, map.ranks());
  std::vector<int> order = map.ComputationOrder(rank);
  const auto level_of = [&](int shard) {
    for (const TreeNode& node : map.SubtreesOf(rank)) {
      if (node.begin() <= shard && shard < node.end()) return node.level;
    }
    return -1;
  };
  RC_ASSERT(std::is_sorted(order.begin(), order.end(), [&](int a, int b) { return level_of(a) > level_of(b); }));
  std::sort(order.begin(), order.end());
  const ShardRange block = map.ShardsOf(rank);
  RC_ASSERT(order.size() == static_cast<size_t>(block.end - block.begin));
  for (size_t i = 0; i < order.size(); ++i) RC_ASSERT(order[i] == block.begin + static_cast<int>(i));
}

RC_GTEST_PROP(ShardMapTest, SubtreesAreMaximal, ()) {
  const ShardMap map = AnyMap();
  for (int rank = 0; rank < map.ranks(); ++rank) {
    for (const TreeNode& node : map.SubtreesOf(rank)) {
      const TreeNode parent = {node.level + 1, node.index / 2};
      RC_ASSERT(parent.end() > map.shards() || !Covers(map.ShardsOf(rank), parent));
    }
  }
}

std::vector<TreeNode> AllSubtrees(const ShardMap& map) {
  std::vector<TreeNode> nodes;
  for (int rank = 0; rank < map.ranks(); ++rank) {
    for (const TreeNode& node : map.SubtreesOf(rank)) nodes.push_back(node);
  }
  return nodes;
}

// The sum of a node as text: "(0+1)" for the node over shards 0 and 1.
std::string Expression(const TreeNode& node) {
  if (node.level == 0) return absl::StrCat(node.index);
  const TreeNode left = {node.level - 1, 2 * node.index}, right = {node.level - 1, 2 * node.index + 1};
  return absl::StrCat("(", Expression(left), "+", Expression(right), ")");
}

TEST(AdditionsToRootTest, GiveTheSameExpressionForEveryNumberOfRanks) {
  for (int levels = 0; levels <= 6; ++levels) {
    const int shards = 1 << levels;
    for (int ranks = 1; ranks <= shards; ++ranks) {
      const std::vector<TreeNode> nodes = AllSubtrees(*ShardMap::Create(shards, ranks));
      std::vector<std::string> sums;
      for (const TreeNode& node : nodes) sums.push_back(Expression(node));
      for (const TreeAddition& addition : AdditionsToRoot(shards, nodes)) {
        std::string& left = sums[addition.left];
        left = absl::StrCat("(", left, "+", sums[addition.right], ")");
      }
      EXPECT_EQ(sums[0], Expression({levels, 0})) << ranks << " ranks";
    }
  }
}

TEST(AdditionsToRootDeathTest, NodesThatDoNotCoverTheShardsOnceAreABug) {
  EXPECT_DEATH(AdditionsToRoot(4, {{1, 0}}), "CHECK failed");
  EXPECT_DEATH(AdditionsToRoot(4, {{1, 0}, {0, 3}}), "CHECK failed");
  EXPECT_DEATH(AdditionsToRoot(2, {{0, 0}, {0, 1}, {0, 2}}), "CHECK failed");
}

}  // namespace
}  // namespace reprise
