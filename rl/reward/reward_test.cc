#include "rl/reward/reward.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

Completion Answered(absl::string_view text, bool terminated = true) {
  return {.prompt = "12+7=", .answer = "19", .text = text, .terminated = terminated};
}

TEST(ExactMatchTest, RewardsOnlyTheWholeAnswerAndItsEnd) {
  EXPECT_EQ(ExactMatch(Answered("19")), 1.0);
  EXPECT_EQ(ExactMatch(Answered("19", /*terminated=*/false)), 0.0);
  EXPECT_EQ(ExactMatch(Answered("190")), 0.0);
  EXPECT_EQ(ExactMatch(Answered("1")), 0.0);
  EXPECT_EQ(ExactMatch(Answered(" 19")), 0.0);
  EXPECT_EQ(ExactMatch(Answered("")), 0.0);
}

TEST(CharacterMatchTest, IsTheShareOfPositionsThatAgree) {
  EXPECT_EQ(CharacterMatch(Answered("19")), 1.0);
  EXPECT_EQ(CharacterMatch(Answered("18")), 0.5);
  EXPECT_EQ(CharacterMatch(Answered("1")), 0.5);
  EXPECT_EQ(CharacterMatch(Answered("1999")), 0.5);  // excess characters lower the reward
  EXPECT_EQ(CharacterMatch(Answered("91")), 0.0);
  EXPECT_EQ(CharacterMatch(Answered("")), 0.0);
  EXPECT_EQ(CharacterMatch({}), 1.0);
}

TEST(RewardTest, IsFoundByItsName) {
  for (absl::string_view name : RewardNames()) {
    ASSERT_OK_AND_ASSIGN(const RewardFunction reward, FindReward(name));
    EXPECT_EQ(reward(Answered("19")), 1.0);
  }
  EXPECT_THAT(FindReward("exactmatch"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"exact_match\"?")));
}

TEST(SoftOverlongPunishmentTest, FallsLinearlyOverTheLastTokens) {
  EXPECT_EQ(SoftOverlongPunishment(0, 20, 4), 0.0);
  EXPECT_EQ(SoftOverlongPunishment(16, 20, 4), 0.0);
  EXPECT_EQ(SoftOverlongPunishment(17, 20, 4), -0.25);
  EXPECT_EQ(SoftOverlongPunishment(20, 20, 4), -1.0);
  EXPECT_EQ(SoftOverlongPunishment(21, 20, 4), -1.0);
}

TEST(SoftOverlongPunishmentTest, WithoutACachePunishesOnlyCompletionsBeyondTheLimit) {
  EXPECT_EQ(SoftOverlongPunishment(20, 20, 0), 0.0);
  EXPECT_EQ(SoftOverlongPunishment(21, 20, 0), -1.0);
}

RC_GTEST_PROP(SoftOverlongPunishmentTest, NeverRewardsLengthAndStaysWithinMinusOne, ()) {
  const int64_t max = *rc::gen::inRange(1, 100), cache = *rc::gen::inRange(0, static_cast<int>(max) + 1);
  double before = 0.0;
  for (int64_t length = 0; length < 120; ++length) {
    const double now = SoftOverlongPunishment(length, max, cache);
    RC_ASSERT(now <= before && now >= -1.0);
    before = now;
  }
}

TEST(MissingEosPenaltyTest, PunishesTruncatedCompletions) {
  EXPECT_EQ(MissingEosPenalty(true, 1.5), -1.5);
  EXPECT_EQ(MissingEosPenalty(false, 1.5), 0.0);
}

}  // namespace
}  // namespace reprise::rl
