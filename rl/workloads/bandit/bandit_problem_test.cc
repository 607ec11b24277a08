#include "rl/workloads/bandit/bandit_problem.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

TEST(BanditWorldTest, TheSamePlaceGivesTheSameProblemAndAnotherPlaceAnother) {
  const BanditWorld world({}, 7), same({}, 7), other({}, 8);
  const BanditProblem problem = world.ProblemAt(Purpose::kTask, 3, 5);
  EXPECT_EQ(problem, same.ProblemAt(Purpose::kTask, 3, 5));
  EXPECT_NE(problem.feature_F, world.ProblemAt(Purpose::kTask, 3, 6).feature_F);
  EXPECT_NE(problem.feature_F, world.ProblemAt(Purpose::kTask, 4, 5).feature_F);
  EXPECT_NE(problem.feature_F, world.ProblemAt(Purpose::kEvaluationTask, 3, 5).feature_F);
  EXPECT_NE(problem.feature_F, other.ProblemAt(Purpose::kTask, 3, 5).feature_F);
}

RC_GTEST_PROP(BanditWorldTest, TheBestAllowedActionHasRewardOneAndTheWorstZero, ()) {
  BanditConfig config;
  config.features = *rc::gen::inRange<int64_t>(1, 9);
  config.actions = *rc::gen::inRange<int64_t>(2, 9);
  config.masked_share = *rc::gen::element(0.0, 0.25, 0.5, 0.99);
  const BanditProblem problem =
      BanditWorld(config, 1).ProblemAt(Purpose::kTask, 1, *rc::gen::inRange<uint64_t>(0, 1000));
  std::vector<double> allowed;
  for (size_t a = 0; a < problem.allowed_A.size(); ++a) {
    if (problem.allowed_A[a] != 0) {
      allowed.push_back(problem.reward_A[a]);
    } else {
      RC_ASSERT(problem.reward_A[a] == 0.0);
    }
  }
  const int64_t masked = config.actions - static_cast<int64_t>(allowed.size());
  RC_ASSERT(allowed.size() >= 2u);
  RC_ASSERT(static_cast<double>(masked) <= static_cast<double>(config.actions) * config.masked_share + 0.5);
  RC_ASSERT(*std::min_element(allowed.begin(), allowed.end()) == 0.0);
  RC_ASSERT(*std::max_element(allowed.begin(), allowed.end()) == 1.0);
  RC_ASSERT(problem.allowed_A[problem.best] == 1);
  RC_ASSERT(problem.reward_A[problem.best] == 1.0);
}

TEST(BanditWorldTest, AMaskTakesItsShareOfTheActions) {
  BanditConfig config;
  config.actions = 8;
  config.masked_share = 0.25;
  const BanditWorld world(config, 1);
  for (uint64_t prompt = 0; prompt < 9; ++prompt) {
    const BanditProblem problem = world.ProblemAt(Purpose::kTask, 1, prompt);
    EXPECT_EQ(std::count(problem.allowed_A.begin(), problem.allowed_A.end(), 1), 6);
  }
}

TEST(BanditWorldTest, NoiseDiffersBetweenSamplesAndIsZeroWithoutADeviation) {
  BanditConfig config;
  EXPECT_EQ(BanditWorld(config, 1).NoiseAt(1, 2, 3), 0.0);
  config.noise = 0.5;
  const BanditWorld world(config, 1);
  EXPECT_EQ(world.NoiseAt(1, 2, 3), world.NoiseAt(1, 2, 3));
  EXPECT_NE(world.NoiseAt(1, 2, 3), world.NoiseAt(1, 2, 4));
}

}  // namespace
}  // namespace reprise::rl
