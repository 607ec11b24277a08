// Tests of the keys of [optimizer] other than the peak learning rate.

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/parameters.h"
#include "rl/config/check.h"
#include "rl/config/extension.h"
#include "rl/learner/tests/learner_testing.h"

namespace reprise::rl {
namespace {

using testing::GetMetric;
using testing::Outcome;
using testing::RunLearner;
using testing::SmallRun;

Outcome RunIt(const Config& config, int ranks = 1) {
  Outcome outcome;
  EXPECT_OK(RunLearner(config, {.ranks = ranks}, &outcome));
  return outcome;
}

TEST(LearnerOptimizerTest, WeightsOfNormsCanBeExcludedFromDecay) {
  Config config = SmallRun();
  config.optimizer.weight_decay = 0.5;
  const Outcome all = RunIt(config);
  config.optimizer.weight_decay_on = DecayedTensors::kMatrices;
  const Outcome matrices = RunIt(config, 3);
  const auto specs = models::MakeDecoderLayout(FromScratchDecoder(config.model)).specs;
  size_t vectors = 0;
  for (size_t i = 0; i < specs.size(); ++i) {  // after the first update, whose gradient is the same
    const bool same = all.sink.records[0].weight_digests[i] == matrices.sink.records[0].weight_digests[i];
    EXPECT_EQ(same, specs[i].shape.size() > 1) << specs[i].name;
    vectors += specs[i].shape.size() == 1 ? 1 : 0;
  }
  EXPECT_GT(vectors, 0u);
}

TEST(LearnerOptimizerTest, TheLearningRateRisesFromAShareOfThePeakAndFallsToAShare) {
  Config config = SmallRun();
  config.run.steps = 6;
  config.optimizer.learning_rate = 1e-3;
  config.optimizer.schedule = Schedule::kCosine;
  config.optimizer.warmup_steps = 2;
  config.optimizer.warmup_start = 0.1;
  config.optimizer.min_lr_rate = 0.1;
  const Outcome outcome = RunIt(config);
  // 0.1, 0.55 and then 0.1 + 0.9 (1 + cos(pi t / 4)) / 2.
  const double expected[] = {1e-4, 5.5e-4, 1e-3, 8.681980515339464e-4, 5.5e-4, 2.318019484660536e-4};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(GetMetric(outcome.sink.records[3 + i], "learning_rate"), expected[i], 1e-16) << i;
  }
}

TEST(LearnerOptimizerTest, ASftRatioIsAShareOfTheSteps) {
  Config config = SmallRun();
  config.run.steps = 5;
  config.optimizer.warmup_ratio = 0.3;
  const Outcome ratio = RunIt(config);
  config.optimizer.warmup_ratio = 0;
  EXPECT_NE(RunIt(config).last_weights_R, ratio.last_weights_R);
  config.optimizer.warmup_steps = 2;
  EXPECT_EQ(RunIt(config).last_weights_R, ratio.last_weights_R);
}

// An extended run has the same bits as a run that is executed at once and knows where its parts end.
TEST(LearnerOptimizerTest, ASftRatioIsAShareOfTheStepsOfEachPart) {
  Config config = SmallRun();
  config.run.steps = 4;
  config.optimizer.schedule = Schedule::kConstant;
  config.optimizer.warmup_ratio = 0.5;
  const Outcome first = RunIt(config);
  ASSERT_OK_AND_ASSIGN(const Config extended, Extend(config, 6));
  const Outcome whole = RunIt(extended);
  for (size_t i = 0; i < first.sink.records.size(); ++i) {
    EXPECT_EQ(GetMetric(first.sink.records[i], "learning_rate"), GetMetric(whole.sink.records[i], "learning_rate"))
        << i;
  }
  EXPECT_EQ(GetMetric(whole.sink.records.back(), "learning_rate"), config.optimizer.learning_rate);
}

}  // namespace
}  // namespace reprise::rl
