#include "core/comm/exchange/exchange_plan.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/comm/testing/tree_exchange_check.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::ExampleTensors;

// Expects that the buckets contain each owned element once, in its owner's ranges.
void ExpectCovers(const Ownership& ownership, const std::vector<ExchangeBucket>& buckets) {
  std::vector<int> times(static_cast<size_t>(ownership.FlatEnd())), owner(times.size(), -1), got(times.size(), -1);
  for (int rank = 0; rank < ownership.ranks(); ++rank) {
    for (const Piece& piece : ownership.PiecesOf(rank)) std::fill_n(owner.begin() + piece.offset, piece.size, rank);
  }
  for (const ExchangeBucket& bucket : buckets) {
    int64_t total = 0;
    for (size_t rank = 0; rank < bucket.ranges.size(); ++rank) {
      int64_t floats = 0;
      for (const FlatRange& range : bucket.ranges[rank]) {
        for (int64_t i = range.offset; i < range.offset + range.size; ++i) {
          ++times[i];
          got[i] = static_cast<int>(rank);
        }
        floats += range.size;
      }
      EXPECT_EQ(bucket.floats[rank], floats);
      total += floats;
    }
    EXPECT_EQ(bucket.total, total);
  }
  EXPECT_EQ(got, owner);
  for (size_t i = 0; i < times.size(); ++i) EXPECT_EQ(times[i], owner[i] < 0 ? 0 : 1) << "element " << i;
}

RC_GTEST_PROP(ExchangePlanTest, EveryOwnedElementIsSentOnceToItsOwner, ()) {
  const Ownership ownership = Ownership::Deal(ExampleTensors(), *rc::gen::inRange(1, 20));
  const int64_t floats = *rc::gen::inRange(1, 300);
  std::vector<int> order(ExampleTensors().size());
  std::iota(order.rbegin(), order.rend(), 0);
  ExpectCovers(ownership, BucketsInOrder(ownership, order, floats));
  for (const ExchangeBucket& bucket : BucketsInOrder(ownership, order, floats)) {
    for (int64_t owned : bucket.floats) RC_ASSERT(owned <= floats);
  }
  RC_ASSERT(!::testing::Test::HasFailure());
}

TEST(ExchangePlanTest, BucketsInOrderStartWithTheFirstTensorAndCloseWhenTheyAreFull) {
  const std::vector<TensorExtent> tensors = {{0, 10, 1, 10}, {10, 20, 1, 20}, {30, 5, 1, 5}};
  const Ownership ownership = Ownership::Deal(tensors, 2);  // 20 to rank 0, 10 and 5 to rank 1
  const std::vector<ExchangeBucket> buckets = BucketsInOrder(ownership, {2, 1, 0}, /*floats_per_rank=*/12);
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[0].floats, (std::vector<int64_t>{12, 5}));
  EXPECT_EQ(buckets[0].ranges[1][0].offset, 30);
  EXPECT_EQ(buckets[1].floats, (std::vector<int64_t>{8, 0}));
  EXPECT_EQ(buckets[1].ranges[0][0].offset, 10 + 12);
  EXPECT_EQ(buckets[2].floats, (std::vector<int64_t>{0, 10}));
}

TEST(ExchangePlanTest, StagingIsWhatTheLargestBucketSendsAndReceives) {
  const Ownership ownership = Ownership::Deal({{0, 12, 1, 12}, {12, 8, 1, 8}}, 2);
  const std::vector<ExchangeBucket> buckets = BucketsInOrder(ownership, {1, 0}, 100);
  EXPECT_EQ(StagingFloats(*ShardMap::Create(8, 2), buckets, 0), 8 + 12);
  EXPECT_EQ(StagingFloats(*ShardMap::Create(8, 2), buckets, 1), 12 + 8);
  EXPECT_EQ(StagingFloats(*ShardMap::Create(8, 1), {}, 0), 0);
}

}  // namespace
}  // namespace reprise
