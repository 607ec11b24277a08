#include "rl/schedule/loader.h"

#include <cmath>
#include <set>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

// Groups of `generations`; ids count from 100, rewards are 0, 1, 2, ..., and the episodes `invalid` are not valid.
EpisodeBatch Episodes(int64_t count, const std::set<int64_t>& invalid = {}, int64_t generations = 1) {
  EpisodeBatch::Arrays arrays;
  for (int64_t n = 0; n < count; ++n) {
    arrays.id_N.push_back(100 + n);
    arrays.group_N.push_back(n / generations);
    arrays.reward_N.push_back(static_cast<double>(n));
    arrays.turns_N.push_back(1 + n % 3);
    arrays.is_valid_N.push_back(invalid.contains(n) ? 0 : 1);
  }
  return EpisodeBatch::Create(arrays).value();
}

std::vector<std::vector<int64_t>> Dealt(const EpisodeBatch& episodes, const LoaderOptions& options, int64_t epoch = 0,
                                        uint64_t seed = 1, uint64_t step = 0) {
  std::vector<std::vector<int64_t>> ids;
  const absl::StatusOr<EpisodeLoader> loader = EpisodeLoader::Create(episodes, options, seed, step);
  EXPECT_OK(loader.status());
  for (const EpisodeBatch& batch : loader->Batches(epoch)) ids.push_back(batch.id_N());
  EXPECT_EQ(static_cast<int64_t>(ids.size()), loader->stats().num_batches);
  return ids;
}

using Ids = std::vector<std::vector<int64_t>>;

TEST(EpisodeBatchTest, HasArraysOfOneLength) {
  const absl::StatusOr<EpisodeBatch> batch = EpisodeBatch::Create({{1, 2}, {0, 0}, {0.5}, {1, 3}, {1, 1}});
  EXPECT_THAT(batch.status(), StatusIs(absl::StatusCode::kInvalidArgument, "a batch of 2 episodes has 1 rewards"));
}

TEST(EpisodeBatchTest, AnEpisodeOfManyTurnsIsOneElement) {
  const EpisodeBatch batch = Episodes(4).At({1, 2});
  EXPECT_EQ(batch.size(), 2);
  EXPECT_EQ(batch.turns_N(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(batch.reward_N(), (std::vector<double>{1, 2}));
}

TEST(EpisodeLoaderTest, CutsInOrderWithoutAShuffle) {
  EXPECT_EQ(Dealt(Episodes(5), {.batch_size = 2, .shuffle = false}), (Ids{{100, 101}, {102, 103}, {104}}));
  EXPECT_EQ(Dealt(Episodes(5), {.batch_size = 2, .drop_last = true, .shuffle = false}), (Ids{{100, 101}, {102, 103}}));
  EXPECT_EQ(Dealt(Episodes(5), {.num_batches = 3, .shuffle = false}), (Ids{{100, 101}, {102, 103}, {104}}));
}

TEST(EpisodeLoaderTest, LeavesInvalidEpisodesOutOnlyWithFilterInvalid) {
  EXPECT_EQ(Dealt(Episodes(5, {0, 3}), {.batch_size = 2, .shuffle = false}), (Ids{{101, 102}, {104}}));
  EXPECT_EQ(Dealt(Episodes(3, {0}), {.batch_size = 2, .shuffle = false, .filter_invalid = false}),
            (Ids{{100, 101}, {102}}));
}

TEST(EpisodeLoaderTest, NeedsTwoEpisodesAlsoWhereTheOthersAreInvalid) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(EpisodeLoader::Create(Episodes(1), {}, 1, 1).status(), StatusIs(kInvalid, HasSubstr("at least 2")));
  EXPECT_THAT(EpisodeLoader::Create(Episodes(4, {0, 1, 3}), {}, 1, 1).status(),
              StatusIs(kInvalid, HasSubstr("of 4 episodes 1 valid ones are left: at least 2 are needed")));
  EXPECT_OK(EpisodeLoader::Create(Episodes(4, {0, 1, 3}), {.filter_invalid = false}, 1, 1).status());
  EXPECT_OK(EpisodeLoader::Create(Episodes(1), {.allows_fewer_than_two = true}, 1, 1).status());
  EXPECT_THAT(EpisodeLoader::Create(Episodes(4), {.batch_size = 0}, 1, 1).status(), StatusIs(kInvalid, HasSubstr("0")));
  EXPECT_THAT(EpisodeLoader::Create(Episodes(4, {}, 2), {.whole_groups = true, .num_batches = 3}, 1, 1).status(),
              StatusIs(kInvalid, HasSubstr("2 groups for 3 batches")));
}

TEST(EpisodeLoaderTest, StatsCountEpisodesAndAverageTheValidOnes) {
  EpisodeBatch::Arrays arrays = {{0, 1, 2, 3}, {0, 0, 0, 0}, {1, std::nan(""), 3, 100}, {2, 4, 3, 9}, {1, 1, 1, 0}};
  ASSERT_OK_AND_ASSIGN(const EpisodeBatch episodes, EpisodeBatch::Create(arrays));
  ASSERT_OK_AND_ASSIGN(const EpisodeLoader loader, EpisodeLoader::Create(episodes, {.batch_size = 2}, 1, 1));
  const LoaderStats stats = loader.stats();
  EXPECT_EQ(stats.total, 4);
  EXPECT_EQ(stats.valid, 3);
  EXPECT_EQ(stats.invalid, 1);
  EXPECT_EQ(stats.avg_turns, 3);
  EXPECT_EQ(stats.avg_reward, 2);
  EXPECT_EQ(stats.num_batches, 2);
}

TEST(EpisodeLoaderTest, ASingleBatchOfAllStaysInOrder) {
  EXPECT_EQ(Dealt(Episodes(4), {.num_batches = 1}), (Ids{{100, 101, 102, 103}}));
}

TEST(EpisodeLoaderTest, DealsDifferentlyInOtherEpochsStepsAndSeeds) {
  const LoaderOptions options = {.num_batches = 4};
  const auto first = [&](uint64_t seed, uint64_t step, int64_t epoch) {
    return Dealt(Episodes(64), options, epoch, seed, step)[0];
  };
  EXPECT_EQ(first(1, 2, 0), first(1, 2, 0));
  std::set<std::vector<int64_t>> different = {first(1, 2, 0)};
  for (int bit = 0; bit < 15; ++bit) different.insert(first(1, 2, int64_t{1} << bit));
  for (int bit = 2; bit < 31; ++bit) different.insert(first(1, uint64_t{1} << bit, 0));
  for (int bit = 1; bit < 64; ++bit) different.insert(first(uint64_t{1} << bit, 2, 0));
  EXPECT_EQ(different.size(), 1u + 15 + 29 + 63);
}

TEST(EpisodeLoaderTest, PutsEveryUnitAnywhereWithTheSameChance) {
  // Unit 0 of 4 in the first of 2 batches: binomial, mean 1000, deviation 22.
  int in_first = 0;
  for (uint64_t step = 0; step < 2000; ++step) {
    const std::vector<int64_t> ids = Dealt(Episodes(4), {.num_batches = 2}, 0, 7, step)[0];
    in_first += std::count(ids.begin(), ids.end(), 100) > 0 ? 1 : 0;
  }
  EXPECT_NEAR(in_first, 1000, 110);
}

RC_GTEST_PROP(EpisodeLoaderTest, DealsEveryEpisodeOnceAnEpochAndNeverCutsAGroupThatIsAUnit, ()) {
  const int64_t groups = *rc::gen::inRange(1, 20), generations = *rc::gen::inRange(2, 5);
  LoaderOptions options = {.whole_groups = *rc::gen::arbitrary<bool>()};
  const int64_t units = options.whole_groups ? groups : groups * generations;
  options.num_batches = *rc::gen::inRange(1, static_cast<int>(units) + 1);
  std::multiset<int64_t> seen;
  size_t least = 1000, most = 0;
  for (const std::vector<int64_t>& ids :
       Dealt(Episodes(groups * generations, {}, generations), options, *rc::gen::inRange(0, 5))) {
    RC_ASSERT(std::is_sorted(ids.begin(), ids.end()));
    least = std::min(least, ids.size()), most = std::max(most, ids.size());
    if (options.whole_groups) {
      for (size_t i = 0; i < ids.size(); ++i)
        RC_ASSERT((ids[i] - 100) % generations == static_cast<int64_t>(i) % generations);
    }
    seen.insert(ids.begin(), ids.end());
  }
  RC_ASSERT(most - least <= static_cast<size_t>(options.whole_groups ? generations : 1));
  RC_ASSERT(static_cast<int64_t>(seen.size()) == groups * generations);
  RC_ASSERT(std::set<int64_t>(seen.begin(), seen.end()).size() == seen.size());
}

}  // namespace
}  // namespace reprise::rl
