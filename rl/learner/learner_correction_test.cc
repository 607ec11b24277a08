// Importance correction: without effect where the sampler is the trainer, which it always is here; what it does with
// log-probabilities of another sampler is seen by spoiling those that were recorded.

#include <cmath>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/learner/learner_testing.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;
using testing::MetricOf;
using testing::Outcome;

// As if every first token had been sampled with half the probability.
void HalveFirst(int, Phase phase, int64_t, models::Model&, Episodes& episodes) {
  if (phase == Phase::kWarmUp) return;
  for (EpisodeRecord& episode : episodes.episode_N) episode.logprobs[0] -= 0.6931472f;
}

Outcome Corrected(const std::string& mode, bool other_sampler, double clip_max = 3) {
  Config config = testing::SmallRun();
  config.run.steps = 1;
  config.algorithm.importance_correction = mode;
  config.algorithm.importance_clip_max = clip_max;
  testing::HowToRun how;
  how.ranks = 2;
  how.reward = [](const Completion& completion) { return static_cast<double>(completion.text.size()); };
  if (other_sampler) how.spoil = HalveFirst;
  Outcome outcome;
  EXPECT_OK(testing::RunLearner(config, how, &outcome));
  return outcome;
}

TEST(ImportanceCorrectionTest, ChangesNothingWhereTheSamplerIsTheTrainer) {
  const Outcome without = Corrected("none", false);
  for (const char* mode : {"token_truncate", "token_mask", "sequence_truncate", "sequence_mask"}) {
    const Outcome with = Corrected(mode, false);
    EXPECT_EQ(with.last_weights_R, without.last_weights_R) << mode;
    for (const char* metric : {"min", "mean", "max"}) {
      EXPECT_EQ(MetricOf(with.sink.records.back(), std::string("sampling/importance_sampling_ratio/") + metric), 1.0);
    }
  }
}

TEST(ImportanceCorrectionTest, WeighsWhatAnotherSamplerDrew) {
  const Outcome without = Corrected("none", false), truncated = Corrected("token_truncate", true);
  EXPECT_NE(truncated.last_weights_R, without.last_weights_R);
  EXPECT_NEAR(MetricOf(truncated.sink.records.back(), "sampling/importance_sampling_ratio/max"), 2, 1e-5);
  const Outcome capped = Corrected("token_truncate", true, 1.5), masked = Corrected("token_mask", true, 1.5);
  EXPECT_EQ(MetricOf(capped.sink.records.back(), "sampling/importance_sampling_ratio/max"), 1.5);
  EXPECT_EQ(MetricOf(masked.sink.records.back(), "sampling/importance_sampling_ratio/min"), 0);
  EXPECT_NE(capped.last_weights_R, masked.last_weights_R);
  // The old log-probabilities are the trainer's: a cap of 1 leaves what the run without another sampler learns.
  EXPECT_EQ(Corrected("token_truncate", true, 1).last_weights_R, without.last_weights_R);
}

TEST(ImportanceCorrectionTest, WithoutItAnotherSamplerIsRefused) {
  Config config = testing::SmallRun();
  Outcome outcome;
  EXPECT_THAT(testing::RunLearner(config, {.ranks = 2, .spoil = HalveFirst}, &outcome),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("when the token was sampled with the same weights")));
}

}  // namespace
}  // namespace reprise::rl
