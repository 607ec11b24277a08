#include "rl/record/stored_episode.h"

#include <limits>
#include <utility>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

EpisodeRecord TwoDecisions() {
  EpisodeRecord episode;
  episode.logprobs = {-1, -2};
  episode.entropies = {0.5, 0.25};
  episode.behaviour_logprobs = {-3, -4};
  episode.ref_logprobs = {-5, -6};
  episode.earned_T = {0, 1};
  episode.rewards_F = {1};
  episode.reward = 1;
  episode.advantage = 2;
  episode.advantage_T = {1, 3};
  return episode;
}

TEST(StoredEpisodeTest, NumbersWithinBoundsHaveNoFault) {
  EpisodeRecord episode = TwoDecisions();
  EXPECT_EQ(FaultOfEpisode(episode, 2, 1), "");
  episode.ref_logprobs.clear();
  EXPECT_EQ(FaultOfEpisode(episode, 2, 1), "");
}

TEST(StoredEpisodeTest, EachNumberOutOfBoundsIsAFault) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const auto corrupt :
       {+[](EpisodeRecord& e, double x) { e.logprobs[1] = static_cast<float>(x); },
        +[](EpisodeRecord& e, double x) { e.entropies[1] = static_cast<float>(x); },
        +[](EpisodeRecord& e, double x) { e.behaviour_logprobs[1] = static_cast<float>(x); },
        +[](EpisodeRecord& e, double x) { e.ref_logprobs[1] = static_cast<float>(x); },
        +[](EpisodeRecord& e, double x) { e.rewards_F[0] = x; }, +[](EpisodeRecord& e, double x) { e.reward = x; },
        +[](EpisodeRecord& e, double x) { e.advantage = x; }}) {
    EpisodeRecord episode = TwoDecisions();
    corrupt(episode, inf);
    EXPECT_EQ(FaultOfEpisode(episode, 2, 1), kOutOfBounds);
  }
}

TEST(StoredEpisodeTest, AnotherNumberOfReferencesOrRewardsIsAFault) {
  EXPECT_EQ(FaultOfEpisode(TwoDecisions(), 3, 1), "it lacks log-probabilities under the reference");
  EXPECT_EQ(FaultOfEpisode(TwoDecisions(), 2, 0), "it has another number of rewards than functions reward it");
}

TEST(StoredEpisodeTest, AllNumbersAreTakenAndNothingElse) {
  const EpisodeRecord numbers = TwoDecisions();
  EpisodeRecord read = numbers, episode;
  read.prompt = 7;
  episode.prompt = 3;
  TakeNumbers(std::move(read), &episode);
  EXPECT_EQ(episode.prompt, 3);
  EXPECT_EQ(episode.logprobs, numbers.logprobs);
  EXPECT_EQ(episode.entropies, numbers.entropies);
  EXPECT_EQ(episode.behaviour_logprobs, numbers.behaviour_logprobs);
  EXPECT_EQ(episode.ref_logprobs, numbers.ref_logprobs);
  EXPECT_EQ(episode.earned_T, numbers.earned_T);
  EXPECT_EQ(episode.rewards_F, numbers.rewards_F);
  EXPECT_EQ(episode.reward, numbers.reward);
  EXPECT_EQ(episode.advantage, numbers.advantage);
  EXPECT_EQ(episode.advantage_T, numbers.advantage_T);
}

}  // namespace
}  // namespace reprise::rl
