#include "rl/schedule/minibatches.h"

#include <algorithm>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

TEST(MinibatchesTest, OfOneAreAllPromptsInOrder) {
  const std::vector<Minibatch> updates = MinibatchesOf(4, {.num_iterations = 2}, 1, 0);
  ASSERT_EQ(updates.size(), 2u);
  for (const Minibatch& update : updates) EXPECT_EQ(update.prompts, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(updates[1].iteration, 1);
}

TEST(MinibatchesTest, WithoutAShuffleCutTheStepInOrder) {
  const std::vector<Minibatch> updates = MinibatchesOf(5, {.num_mini_batches = 3, .shuffle = false}, 1, 0);
  ASSERT_EQ(updates.size(), 3u);
  EXPECT_EQ(updates[0].prompts, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(updates[1].prompts, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(updates[2].prompts, (std::vector<int64_t>{4}));
}

TEST(MinibatchesTest, DifferBetweenIterationsStepsAndSeedsAndAreOtherwiseTheSame) {
  const UpdateOptions options = {.num_iterations = 2, .num_mini_batches = 4};
  const auto prompts = [&](uint64_t seed, uint64_t step, size_t update) {
    return MinibatchesOf(64, options, seed, step)[update].prompts;
  };
  EXPECT_EQ(prompts(1, 2, 0), prompts(1, 2, 0));
  EXPECT_NE(prompts(1, 2, 0), prompts(1, 2, 4));
  EXPECT_NE(prompts(1, 2, 0), prompts(1, 3, 0));
  EXPECT_NE(prompts(1, 2, 0), prompts(2, 2, 0));
}

TEST(MinibatchesTest, PutEveryPromptAnywhereWithTheSameChance) {
  // Prompt 0 of 4 in the first of 2 minibatches: binomial, mean 1000, deviation 22.
  int first = 0;
  for (uint64_t step = 0; step < 2000; ++step) {
    const std::vector<int64_t> prompts = MinibatchesOf(4, {.num_mini_batches = 2}, 7, step)[0].prompts;
    first += std::count(prompts.begin(), prompts.end(), 0) > 0 ? 1 : 0;
  }
  EXPECT_NEAR(first, 1000, 110);
}

RC_GTEST_PROP(MinibatchesTest, VisitEveryPromptOnceAnIteration, ()) {
  const int64_t prompts = *rc::gen::inRange(1, 40);
  const UpdateOptions options = {.num_iterations = *rc::gen::inRange(1, 4),
                                 .num_mini_batches = *rc::gen::inRange(1, static_cast<int>(prompts) + 1)};
  const std::vector<Minibatch> updates = MinibatchesOf(prompts, options, *rc::gen::arbitrary<uint64_t>(), 3);
  RC_ASSERT(static_cast<int64_t>(updates.size()) == options.num_iterations * options.num_mini_batches);
  std::vector<std::multiset<int64_t>> seen(static_cast<size_t>(options.num_iterations));
  for (const Minibatch& update : updates) {
    RC_ASSERT(!update.prompts.empty());
    RC_ASSERT(std::is_sorted(update.prompts.begin(), update.prompts.end()));
    seen[static_cast<size_t>(update.iteration)].insert(update.prompts.begin(), update.prompts.end());
  }
  for (const std::multiset<int64_t>& iteration : seen) {
    RC_ASSERT(static_cast<int64_t>(iteration.size()) == prompts);
    RC_ASSERT(*iteration.begin() == 0 && *iteration.rbegin() == prompts - 1);
    RC_ASSERT(std::set<int64_t>(iteration.begin(), iteration.end()).size() == iteration.size());
  }
}

}  // namespace
}  // namespace reprise::rl
