#include "rl/environments/grid_navigation/episode_check.h"

#include "gtest/gtest.h"

namespace reprise::rl::grid_navigation {
namespace {

const TurnCheck kGood = {MaskMethod::kJson, 1.0, ""};
const TurnCheck kPattern = {MaskMethod::kPattern, 0.7, ""};
const TurnCheck kLast = {MaskMethod::kLast, 0.3, ""};
const TurnCheck kFailed = {MaskMethod::kFailed, 0, "x"};
const TurnCheck kInvalid = {MaskMethod::kJson, 1.0, "Invalid answer format"};

TEST(MaskingQualityTest, FollowsTheMeanConfidenceOfTheTurns) {
  EXPECT_EQ(ComputeMaskingQuality({1.0, 1.0}), MaskingQuality::kGood);
  EXPECT_EQ(ComputeMaskingQuality({0.9}), MaskingQuality::kGood);
  EXPECT_EQ(ComputeMaskingQuality({1.0, 0.7}), MaskingQuality::kLowConfidence);
  EXPECT_EQ(ComputeMaskingQuality({0.6}), MaskingQuality::kLowConfidence);
  EXPECT_EQ(ComputeMaskingQuality({0.7, 0.3}), MaskingQuality::kFallbackUsed);
  EXPECT_EQ(ComputeMaskingQuality({}), MaskingQuality::kFallbackUsed);
}

TEST(MaskingQualityTest, HasAName) {
  EXPECT_EQ(MaskingQualityName(MaskingQuality::kGood), "good");
  EXPECT_EQ(MaskingQualityName(MaskingQuality::kLowConfidence), "low_confidence");
  EXPECT_EQ(MaskingQualityName(MaskingQuality::kFallbackUsed), "fallback_used");
}

TEST(CheckEpisodeTest, GoodTurnsMakeAGoodEpisode) {
  const EpisodeCheck check = CheckEpisode({kGood, kGood});
  EXPECT_TRUE(check.is_valid());
  EXPECT_EQ(check.quality, MaskingQuality::kGood);
}

TEST(CheckEpisodeTest, ReasonsAreCheckedInOrder) {
  EXPECT_EQ(CheckEpisode({}).dropout_reason, "no_turns_generated");
  EXPECT_EQ(CheckEpisode({kInvalid, kFailed}).dropout_reason, "masking_failed");
  EXPECT_EQ(CheckEpisode({kLast, kInvalid}).dropout_reason, "invalid_action: Invalid answer format");
  EXPECT_EQ(CheckEpisode({kLast, kLast}).dropout_reason, "all_turns_low_confidence_masking");
  EXPECT_EQ(CheckEpisode({kLast, kGood}).dropout_reason, "");
}

TEST(CheckEpisodeTest, QualityIsThatOfTheMeanConfidence) {
  EXPECT_EQ(CheckEpisode({kPattern, kGood}).quality, MaskingQuality::kLowConfidence);
  EXPECT_EQ(CheckEpisode({kLast, kPattern}).quality, MaskingQuality::kFallbackUsed);
}

TEST(CheckEpisodeTest, ReasonsHaveAKind) {
  EXPECT_EQ(ReasonKind(CheckEpisode({kInvalid}).dropout_reason), kDropoutReasons[2]);
  EXPECT_EQ(ReasonKind(CheckEpisode({kFailed}).dropout_reason), kDropoutReasons[1]);
  EXPECT_EQ(ReasonKind(""), "");
}

}  // namespace
}  // namespace reprise::rl::grid_navigation
