#include "benchmarks/gate/decide.h"

#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::gate {
namespace {

constexpr Bound kAtMostOne = {.at_least = false, .ratio = 1};
const Look kGood = {{{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}, false};
const Look kBad = {{{6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}}, false};
const Look kLoaded = {{{6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}}, true};

Decision After(const std::vector<Look>& looks) {
  size_t next = 0;
  return *Decide(kAtMostOne, 3, [&]() -> absl::StatusOr<Look> { return looks.at(next++); });
}

TEST(DecideTest, AGateHoldsAfterOneLookWithinItsBound) {
  const Decision decision = After({kGood});
  EXPECT_TRUE(decision.judged);
  EXPECT_EQ(decision.judgement.outcome, Outcome::kHeld);
  EXPECT_EQ(decision.looks, 1);
}

TEST(DecideTest, AGateFailsOnlyAfterTwoFailedLooks) {
  EXPECT_EQ(After({kBad, kBad}).judgement.outcome, Outcome::kFell);
  EXPECT_TRUE(After({kBad, kBad}).judged);
  EXPECT_EQ(After({kBad, kGood}).judgement.outcome, Outcome::kHeld);
}

TEST(DecideTest, LooksWhileOtherProcessesUseTheMachineDoNotCount) {
  EXPECT_EQ(After({kLoaded, kGood}).judgement.outcome, Outcome::kHeld);
  EXPECT_EQ(After({kLoaded, kBad, kBad}).judgement.outcome, Outcome::kFell);
  EXPECT_FALSE(After({kLoaded, kLoaded, kLoaded}).judged);
  EXPECT_FALSE(After({kBad, kLoaded, kLoaded}).judged);
}

TEST(DecideTest, AnErrorOfALookIsReturned) {
  const auto look = []() -> absl::StatusOr<Look> { return absl::InternalError("broken"); };
  EXPECT_EQ(Decide(kAtMostOne, 3, look).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace reprise::gate
