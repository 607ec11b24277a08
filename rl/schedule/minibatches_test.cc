#include "rl/schedule/minibatches.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

TEST(EarlyStopTest, StopsBeyondOneAndAHalfTimesTheTarget) {
  EXPECT_FALSE(StopsEarly(0.15, 0.1));
  EXPECT_TRUE(StopsEarly(0.16, 0.1));
  EXPECT_FALSE(StopsEarly(1e9, 0.0));
}

TEST(BatchSizesTest, DifferByAtMostOneOrLeaveTheRestToTheLast) {
  EXPECT_EQ(BatchSizes(8, 3, 0), (std::vector<int64_t>{3, 3, 2}));
  EXPECT_EQ(BatchSizes(8, 0, 3), (std::vector<int64_t>{3, 3, 2}));
  EXPECT_EQ(BatchSizes(7, 3, 0), (std::vector<int64_t>{3, 2, 2}));
  EXPECT_EQ(BatchSizes(7, 0, 3), (std::vector<int64_t>{3, 3, 1}));
  EXPECT_EQ(BatchSizes(6, 0, 3), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(BatchSizes(2, 0, 3), (std::vector<int64_t>{2}));
}

TEST(SplitDecisionsTest, ASingleMinibatchHasAllDecisionsInOrder) {
  const std::vector<int64_t> decisions_N = {2, 0, 1};
  const std::vector<std::vector<DecisionSubset>> all = {{{0, {0, 1}}, {2, {0}}}};
  EXPECT_EQ(SplitDecisions(decisions_N, {}, 1, 1, 0), all);
  EXPECT_EQ(SplitDecisions(decisions_N, {.mini_batch_size = 9}, 1, 1, 0), all);
}

TEST(SplitDecisionsTest, AMinibatchHasAtLeastOneDecision) {
  EXPECT_EQ(SplitDecisions({2, 0, 1}, {.num_mini_batches = 7}, 1, 1, 0).size(), 3u);
  EXPECT_TRUE(SplitDecisions({0, 0}, {.num_mini_batches = 7}, 1, 1, 0).empty());
  EXPECT_TRUE(SplitDecisions({}, {.mini_batch_size = 7}, 1, 1, 0).empty());
}

TEST(SplitDecisionsTest, DealsDifferentlyInOtherIterationsStepsAndSeeds) {
  const std::vector<int64_t> decisions_N(16, 4);
  const auto deal = [&](uint64_t seed, uint64_t step, int64_t iteration) {
    return SplitDecisions(decisions_N, {.num_mini_batches = 4}, seed, step, iteration);
  };
  EXPECT_EQ(deal(1, 2, 0), deal(1, 2, 0));
  EXPECT_NE(deal(1, 2, 0), deal(1, 2, 1));
  EXPECT_NE(deal(1, 2, 0), deal(1, 3, 0));
  EXPECT_NE(deal(1, 2, 0), deal(2, 2, 0));
}

RC_GTEST_PROP(SplitDecisionsTest, DealsEveryDecisionOnce, ()) {
  std::vector<int64_t> decisions_N(*rc::gen::inRange<size_t>(0, 9));
  for (int64_t& decisions : decisions_N) decisions = *rc::gen::inRange(0, 7);
  UpdateOptions options;
  (*rc::gen::arbitrary<bool>() ? options.num_mini_batches : options.mini_batch_size) = *rc::gen::inRange(1, 12);
  std::set<std::pair<int64_t, int64_t>> seen;
  size_t dealt = 0, before = SIZE_MAX;
  for (const std::vector<DecisionSubset>& batch : SplitDecisions(decisions_N, options, 3, 4, *rc::gen::inRange(0, 5))) {
    size_t size = 0;
    RC_ASSERT(
        std::is_sorted(batch.begin(), batch.end(), [](const auto& a, const auto& b) { return a.episode < b.episode; }));
    for (const DecisionSubset& episode : batch) {
      RC_ASSERT(std::is_sorted(episode.decisions.begin(), episode.decisions.end()));
      for (const int64_t decision : episode.decisions) {
        RC_ASSERT(decision >= 0 && decision < decisions_N[episode.episode]);
        seen.insert({episode.episode, decision});
      }
      size += episode.decisions.size();
    }
    RC_ASSERT(size > 0 && size <= before);
    if (options.mini_batch_size > 0) RC_ASSERT(size <= static_cast<size_t>(options.mini_batch_size));
    dealt += size, before = size;
  }
  size_t all = 0;
  for (const int64_t decisions : decisions_N) all += static_cast<size_t>(decisions);
  RC_ASSERT(dealt == all && seen.size() == all);
}

}  // namespace
}  // namespace reprise::rl
