// Every algorithm that a configuration can name trains, the same on any ranks and in a replay.

#include <set>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/algorithm/algorithm.h"
#include "rl/learner/learner_testing.h"

namespace reprise::rl {
namespace {

using testing::ExpectSame;
using testing::Outcome;
using testing::RunLearner;

Config RunOf(absl::string_view algorithm) {
  Config config = testing::SmallRun();
  config.algorithm.name = std::string(algorithm);
  config.run.steps = 2;
  return config;
}

class LearnerAlgorithmsTest : public ::testing::TestWithParam<absl::string_view> {};

INSTANTIATE_TEST_SUITE_P(EveryRow, LearnerAlgorithmsTest, ::testing::ValuesIn(AlgorithmNames()),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(LearnerAlgorithmsTest, GivesTheSameRecordsOnThreeRanksAndInAReplay) {
  Outcome alone, shared, replayed;
  Config config = RunOf(GetParam());
  ASSERT_OK(RunLearner(config, {}, &alone));
  ASSERT_OK(RunLearner(config, {.ranks = 3}, &shared));
  ExpectSame(alone, shared);
  config.execution.micro_batch_tokens = 9;
  ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &alone.sink.records}, &replayed));
  ExpectSame(alone, replayed);
}

TEST(LearnerAlgorithmsTest, EachLearnsInAWayOfItsOwn) {
  std::set<std::vector<Digest>> weights;
  for (absl::string_view algorithm : AlgorithmNames()) {
    if (algorithm == "bnpo") continue;  // a step of one minibatch: as grpo
    Config config = RunOf(algorithm);
    config.algorithm.num_iterations = 4;  // far enough for every clip to matter
    config.optimizer.learning_rate = 0.02;
    // No completion is worth 0, lest the greedy ones be as good as no baseline.
    const RewardFunction reward = [](const Completion& completion) { return 1.0 + CharacterMatch(completion); };
    Outcome outcome;
    ASSERT_OK(RunLearner(config, {.reward = reward}, &outcome));
    EXPECT_TRUE(weights.insert(outcome.sink.records.back().weight_digests).second) << algorithm;
  }
}

}  // namespace
}  // namespace reprise::rl
