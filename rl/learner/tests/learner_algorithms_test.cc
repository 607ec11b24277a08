// Tests that every algorithm that a configuration can name trains, with the same result on any ranks and in a replay.

#include <set>

#include "core/random/draw.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/tests/learner_testing.h"

namespace reprise::rl {
namespace {

using testing::ExpectSame;
using testing::Outcome;
using testing::RunLearner;

Config RunOf(absl::string_view algorithm) {
  Config config = testing::SmallRun();
  SelectPreset(std::string(algorithm), &config.algorithm);
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

// Draws for each row how a step is split, sharded over ranks and ordered in decoding.
TEST_P(LearnerAlgorithmsTest, GivesTheSameRecordsForAnySplitOfAStep) {
  Config config = RunOf(GetParam());
  config.algorithm.update.num_mini_batches = 2;
  Outcome whole;
  ASSERT_OK(RunLearner(config, {}, &whole));
  for (uint64_t trial = 0; trial < 2; ++trial) {
    const auto draw = [&](uint64_t what, int64_t most) {
      const double u = DrawUniform(trial + 10 * GetParam().size() + static_cast<uint64_t>(GetParam()[0]),
                                   Purpose::kTest, {.token = what});
      return static_cast<int64_t>(u * static_cast<double>(most));
    };
    config.execution.threads = 1 + draw(0, 3);
    config.execution.micro_batch_tokens = draw(1, 40);
    config.execution.decode_slots = draw(2, 9);
    config.execution.activation_checkpointing = draw(3, 2) == 1;
    Outcome cut;
    ASSERT_OK(RunLearner(config, {.ranks = 1 + static_cast<int>(draw(4, 8))}, &cut));
    ExpectSame(whole, cut);
  }
}

TEST(LearnerAlgorithmsTest, EachLearnsDifferentWeights) {
  std::set<std::vector<Digest>> weights;
  for (absl::string_view algorithm : AlgorithmNames()) {
    if (algorithm == "bnpo") continue;  // with one minibatch per step it equals grpo
    Config config = RunOf(algorithm);
    config.algorithm.update.num_iterations = 4;  // far enough for every clip to matter
    config.optimizer.learning_rate = 0.02;
    // No completion has reward 0: otherwise the greedy baseline could equal no baseline.
    const RewardFunction reward = [](const Completion& completion) { return 1.0 + CharacterMatch(completion); };
    Outcome outcome;
    ASSERT_OK(RunLearner(config, {.reward = reward}, &outcome));
    EXPECT_TRUE(weights.insert(outcome.sink.records.back().weight_digests).second) << algorithm;
  }
}

}  // namespace
}  // namespace reprise::rl
