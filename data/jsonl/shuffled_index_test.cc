#include "data/jsonl/shuffled_index.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::data {
namespace {

std::vector<int64_t> Epoch(int64_t count, uint64_t seed, uint64_t epoch, Purpose purpose = Purpose::kTask) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < count; ++i) {
    order.push_back(
        ShuffledIndex(count, seed, purpose, epoch * static_cast<uint64_t>(count) + static_cast<uint64_t>(i)));
  }
  return order;
}

TEST(ShuffledIndexTest, HasEveryIndexOnceInEveryEpoch) {
  for (int64_t count = 1; count <= 130; ++count) {
    for (uint64_t epoch : {0, 1, 7}) {
      std::vector<int64_t> order = Epoch(count, 3, epoch);
      std::sort(order.begin(), order.end());
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(order[i], i) << count;
    }
  }
}

RC_GTEST_PROP(ShuffledIndexPropertyTest, IsAPermutationForAnyCountAndSeed, (uint64_t seed)) {
  const int64_t count = *rc::gen::inRange<int64_t>(1, 3000);
  std::vector<int64_t> order = Epoch(count, seed, *rc::gen::inRange<uint64_t>(0, 1000));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < count; ++i) RC_ASSERT(order[i] == i);
}

TEST(ShuffledIndexTest, DependsOnSeedEpochAndPurpose) {
  const std::vector<int64_t> order = Epoch(100, 3, 0);
  EXPECT_NE(order, Epoch(100, 4, 0));
  for (int bit = 0; bit < 32; ++bit) EXPECT_NE(order, Epoch(100, 3, uint64_t{1} << bit)) << bit;
  EXPECT_NE(order, Epoch(100, 3, 0, Purpose::kSftTask));
}

// 600 orders of 10: each index is at each place 60 times, within five standard deviations of 7.3.
TEST(ShuffledIndexTest, PutsEveryIndexEverywhereEquallyOften) {
  for (const bool by_seed : {true, false}) {
    std::vector<std::vector<int>> count(10, std::vector<int>(10));
    for (uint64_t i = 0; i < 600; ++i) {
      const std::vector<int64_t> order = by_seed ? Epoch(10, i, 0) : Epoch(10, 1, i);
      for (size_t place = 0; place < 10; ++place) ++count[place][order[place]];
    }
    for (const auto& row : count) {
      for (int times : row) EXPECT_NEAR(times, 60, 37);
    }
  }
}

TEST(ShuffledIndexTest, WorksAtTheLargestCount) {
  const int64_t count = int64_t{1} << 32;
  const int64_t index = ShuffledIndex(count, 1, Purpose::kTask, 12345);
  EXPECT_GE(index, 0);
  EXPECT_LT(index, count);
  EXPECT_NE(index, ShuffledIndex(count, 1, Purpose::kTask, 12346));
}

// The order is part of the numeric contract.
TEST(ShuffledIndexTest, IsFixed) { EXPECT_EQ(Epoch(8, 1, 0), (std::vector<int64_t>{7, 1, 0, 2, 6, 3, 5, 4})); }

}  // namespace
}  // namespace reprise::data
