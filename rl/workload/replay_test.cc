#include "rl/workload/replay.h"

#include <limits>

#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::testing::HasSubstr;

StepRecord TwoPromptsOfTwoSamples() {
  StepRecord stored;
  stored.step = 5;
  for (int64_t n = 0; n < 4; ++n) {
    EpisodeRecord& episode = stored.episode_N.emplace_back();
    episode.prompt = n / 2;
    episode.sample = n % 2;
  }
  return stored;
}

TEST(ReplayTest, AStoredEpisodeIsFoundByItsPromptAndSample) {
  const StepRecord stored = TwoPromptsOfTwoSamples();
  ASSERT_OK_AND_ASSIGN(const EpisodeRecord* episode, StoredEpisode(stored, 1, 0, 2));
  EXPECT_EQ(episode, &stored.episode_N[2]);
}

TEST(ReplayTest, AnEpisodeThatIsNotStoredIsLostData) {
  StepRecord stored = TwoPromptsOfTwoSamples();
  EXPECT_THAT(StoredEpisode(stored, 2, 0, 2).status().message(), HasSubstr("step 5 lacks prompt 2 sample 0"));
  stored.episode_N.erase(stored.episode_N.begin());
  EXPECT_EQ(StoredEpisode(stored, 0, 1, 2).status().code(), absl::StatusCode::kDataLoss);
}

TEST(ReplayTest, ARewardThatIsNotWithinBoundsIsAnErrorWithItsPlace) {
  EpisodeRecord episode;
  episode.prompt = 3;
  episode.sample = 1;
  episode.reward = -2;
  EXPECT_OK(CheckReward(episode));
  episode.reward = std::numeric_limits<double>::infinity();
  EXPECT_THAT(CheckReward(episode).message(), HasSubstr("the reward of prompt 3 sample 1 is inf"));
}

}  // namespace
}  // namespace reprise::rl
