#include "rl/workloads/quiet_star/baking.h"

#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/quiet_star/thinking_tokens.h"

namespace reprise::rl {
namespace {

using ::testing::ElementsAre;

const std::vector<int32_t> kThinking = {100, 101, 102, 103, 104, 105, 106, 107};
const std::vector<int32_t> kHint = {7, 8};

TEST(BakingTest, ARoundHasThePublishedNumbersOfExamples) {
  std::map<Strategy, int64_t> counts;
  for (int64_t example = 1600; example < 3200; ++example) ++counts[ChooseStrategy(example)];
  EXPECT_EQ(counts.size(), kStrategyNames.size());
  for (const auto& [strategy, count] : counts) {
    EXPECT_EQ(count, strategy == Strategy::kChainOfThought ? 400 : 200) << static_cast<int>(strategy);
  }
}

TEST(BakingTest, FormsAreMarkedByTheirTokensAndWriteTheHint) {
  static_assert(models::kThinkingTokens[2] == "<step>" && models::kThinkingTokens[3] == "<reason>" &&
                models::kThinkingTokens[4] == "<mece>" && models::kThinkingTokens[5] == "<falsify>" &&
                models::kThinkingTokens[6] == "<expert>" && models::kThinkingTokens[7] == "<doubt>");
  EXPECT_THAT(BakedThought(Strategy::kChainOfThought, kHint, kThinking), ElementsAre(102, 7, 102, 8));
  EXPECT_THAT(BakedThought(Strategy::kMece, kHint, kThinking), ElementsAre(104, 7, 8));
  EXPECT_THAT(BakedThought(Strategy::kFalsification, kHint, kThinking), ElementsAre(105, 7, 8));
  EXPECT_THAT(BakedThought(Strategy::kExpert, kHint, kThinking), ElementsAre(106, 7, 8));
  EXPECT_THAT(BakedThought(Strategy::kOrthogonal, kHint, kThinking), ElementsAre(103, 102, 7, 8));
  EXPECT_THAT(BakedThought(Strategy::kSelfDoubt, kHint, kThinking), ElementsAre(107, 7, 8));
  EXPECT_THAT(BakedThought(Strategy::kBayesian, kHint, kThinking), ElementsAre(103, 7, 8));
}

TEST(BakingTest, FormsDifferAndNoneIsEmptyWithoutAHint) {
  std::set<std::vector<int32_t>> with, without;
  for (size_t i = 0; i < kStrategyNames.size(); ++i) {
    with.insert(BakedThought(static_cast<Strategy>(i), kHint, kThinking));
    without.insert(BakedThought(static_cast<Strategy>(i), {}, kThinking));
  }
  EXPECT_EQ(with.size(), kStrategyNames.size());
  EXPECT_EQ(without.size(), kStrategyNames.size());
  EXPECT_EQ(without.count({}), 0u);
}

}  // namespace
}  // namespace reprise::rl
