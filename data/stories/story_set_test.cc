#include "data/stories/story_set.h"

#include <string>

#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::data {
namespace {

using ::reprise::testing::StatusIs;

using ::testing::HasSubstr;

std::string TextOf(const StorySet& set) { return {set.token_NT.begin(), set.token_NT.end()}; }

TEST(StorySetTest, AStoryIsAFunctionOfSeedAndIndexAndNamesItsHeroAgain) {
  const std::string story = GeneratedStory(1, 5);
  EXPECT_EQ(story, GeneratedStory(1, 5));
  EXPECT_NE(story, GeneratedStory(1, 6));
  EXPECT_NE(story, GeneratedStory(2, 5));
  EXPECT_THAT(story, HasSubstr("Once there was a "));
  const size_t named = story.find(" named ") + 7;
  const std::string hero = story.substr(named, story.find('.') - named);
  EXPECT_NE(story.rfind(hero), named);
}

TEST(StorySetTest, TrainingAndValidationFollowEachOther) {
  const StorySplits splits = GeneratedStories(3, {.block = 15, .train = 20, .validation = 4});
  EXPECT_EQ(splits.train.size(), 20u);
  EXPECT_EQ(splits.validation.size(), 4u);
  std::string text;
  for (uint64_t index = 0; text.size() < 24 * 16; ++index) text += GeneratedStory(3, index);
  EXPECT_EQ(TextOf(splits.train) + TextOf(splits.validation), text.substr(0, size_t{24} * 16));
  EXPECT_EQ(splits.train.sequence(1)[0], static_cast<uint8_t>(text[16]));
}

TEST(StorySetTest, ATextThatIsTooShortSaysWhatIsNeeded) {
  const StoryCounts counts = {.block = 3, .train = 2, .validation = 1};
  ASSERT_OK_AND_ASSIGN(const StorySplits splits, SplitText("abcdefghijkl", "t.txt", counts));
  EXPECT_EQ(TextOf(splits.validation), "ijkl");
  EXPECT_THAT(SplitText("abcdefghijk", "t.txt", counts),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("t.txt has 11 bytes")));
  EXPECT_THAT(SplitText("version https://git-lfs.github.com/spec/v1\n", "t.txt", {.block = 99}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("t.txt: this is a pointer of Git LFS")));
}

TEST(StorySetTest, AByteOrderMarkIsNoPartOfTheText) {
  const StoryCounts counts = {.block = 3, .train = 2, .validation = 1};
  ASSERT_OK_AND_ASSIGN(const StorySplits splits, SplitText("\xef\xbb\xbf"
                                                           "abcdefghijkl",
                                                           "t.txt", counts));
  EXPECT_EQ(TextOf(splits.train), "abcdefgh");
}

}  // namespace
}  // namespace reprise::data
