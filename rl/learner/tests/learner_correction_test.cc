// Tests of importance correction. It has no effect where tokens are drawn from the policy's whole distribution; its
// effect with another sampler is tested by filtering, and by changing the recorded log-probabilities.

#include <algorithm>
#include <cmath>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using testing::GetMetric;
using ::testing::HasSubstr;
using testing::Outcome;

// Changes log-probabilities as if every first token had been sampled with half the probability.
void HalveFirst(int, Phase phase, int64_t, models::Model&, Episodes& episodes) {
  if (phase == Phase::kSft) return;
  for (EpisodeRecord& episode : episodes.episode_N) episode.logprobs[0] -= 0.6931472f;
}

Outcome Corrected(const std::string& mode, bool other_sampler, double clip_max = 3) {
  Config config = testing::SmallRun();
  config.run.steps = 1;
  config.algorithm.correction.mode = ParseImportanceMode(mode).value();
  config.algorithm.correction.clip_max = clip_max;
  testing::RunOptions how;
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
      EXPECT_EQ(GetMetric(with.sink.records.back(), std::string("sampling/importance_sampling_ratio/") + metric), 1.0);
    }
  }
}

TEST(ImportanceCorrectionTest, WeightsTokensOfAnotherSampler) {
  const Outcome without = Corrected("none", false), truncated = Corrected("token_truncate", true);
  EXPECT_NE(truncated.last_weights_R, without.last_weights_R);
  EXPECT_NEAR(GetMetric(truncated.sink.records.back(), "sampling/importance_sampling_ratio/max"), 2, 1e-5);
  const Outcome capped = Corrected("token_truncate", true, 1.5), masked = Corrected("token_mask", true, 1.5);
  EXPECT_EQ(GetMetric(capped.sink.records.back(), "sampling/importance_sampling_ratio/max"), 1.5);
  EXPECT_EQ(GetMetric(masked.sink.records.back(), "sampling/importance_sampling_ratio/min"), 0);
  EXPECT_NE(capped.last_weights_R, masked.last_weights_R);
  // The old log-probabilities are the trainer's: with a cap of 1 the result equals that of the run without another
  // sampler.
  EXPECT_EQ(Corrected("token_truncate", true, 1).last_weights_R, without.last_weights_R);
}

// Uses every option that restricts what is drawn.
Config FilteredRun(const std::string& mode = "none") {
  Config config = testing::SmallRun();
  config.rollout.top_k = 6;
  config.rollout.top_p = 0.8;
  config.rollout.min_new_tokens = 3;
  config.algorithm.update.num_mini_batches = 2;
  config.algorithm.correction.mode = ParseImportanceMode(mode).value();
  return config;
}

TEST(FilteredSamplingTest, RecordsLogprobsOfPolicyAndBehaviourAsAReplayRecomputesThem) {
  Config config = FilteredRun();
  Outcome live, shared, replayed;
  ASSERT_OK(testing::RunLearner(config, {}, &live));
  bool some_differ = false;
  for (const StepRecord& record : live.sink.records) {
    for (const EpisodeRecord& episode : record.episode_N) {
      ASSERT_EQ(std::ssize(episode.behaviour_logprobs), record.phase == Phase::kTraining ? episode.decisions.count : 0);
      for (size_t t = 0; t < episode.behaviour_logprobs.size(); ++t) {
        EXPECT_GE(episode.behaviour_logprobs[t], episode.logprobs[t] - 1e-5f);
        some_differ |= episode.behaviour_logprobs[t] > episode.logprobs[t] + 1e-3f;
      }
    }
    if (record.phase == Phase::kTraining) {
      EXPECT_EQ(GetMetric(record, "sampling/sampling_logp_difference/max"), 0);
    }
  }
  EXPECT_TRUE(some_differ);
  ASSERT_OK(testing::RunLearner(config, {.ranks = 5}, &shared));
  testing::ExpectSame(live, shared);
  config.execution.threads = 3, config.execution.micro_batch_tokens = 9;
  ASSERT_OK(testing::RunLearner(config, {.ranks = 3, .replay = &live.sink.records}, &replayed));
  testing::ExpectSame(live, replayed);
}

TEST(FilteredSamplingTest, WeightsAreThePolicysProbabilityOverTheBehaviours) {
  const Config config = FilteredRun("token_truncate");
  Outcome corrected, replayed, without;
  ASSERT_OK(testing::RunLearner(config, {}, &corrected));
  ASSERT_OK(testing::RunLearner(config, {.ranks = 2, .replay = &corrected.sink.records}, &replayed));
  testing::ExpectSame(corrected, replayed);
  ASSERT_OK(testing::RunLearner(FilteredRun(), {}, &without));
  EXPECT_NE(corrected.last_weights_R, without.last_weights_R);
  const StepRecord& record = corrected.sink.records[3];  // the first training step
  double sum = 0, least = 1, tokens = 0;
  for (const EpisodeRecord& episode : record.episode_N) {
    for (size_t t = 0; t < episode.logprobs.size(); ++t, ++tokens) {
      const double weight = std::exp(static_cast<double>(episode.logprobs[t]) - episode.behaviour_logprobs[t]);
      sum += weight;
      least = std::min(least, weight);
    }
  }
  EXPECT_LT(sum / tokens, 0.999);
  EXPECT_NEAR(GetMetric(record, "sampling/importance_sampling_ratio/mean"), sum / tokens, 1e-12);
  EXPECT_NEAR(GetMetric(record, "sampling/importance_sampling_ratio/min"), least, 1e-12);
  EXPECT_EQ(GetMetric(record, "sampling/sampling_logp_difference/max"), 0);
}

// A token that these options never draw has probability 0, whatever the stored value is.
TEST(FilteredSamplingTest, AReplayDetectsATokenThatIsNeverDrawn) {
  Config config = FilteredRun("sequence_truncate");
  config.sft.steps = 0, config.run.steps = 1;
  Outcome live, replayed;
  ASSERT_OK(testing::RunLearner(config, {}, &live));
  std::vector<StepRecord> forged = live.sink.records;
  CompletionOf(forged[0].episode_N[5]).tokens[0] = 1;  // the end token, before min_new_tokens
  ASSERT_OK(testing::RunLearner(config, {.replay = &forged}, &replayed));
  EXPECT_EQ(replayed.sink.records[0].episode_N[5].behaviour_logprobs[0], -INFINITY);
}

TEST(FilteredSamplingTest, RejectsABehaviourThatIsNotFinite) {
  const auto spoil = [](int rank, Phase phase, int64_t, models::Model&, Episodes& episodes) {
    if (phase == Phase::kTraining && rank == 1) episodes.episode_N[2].behaviour_logprobs[1] = NAN;
  };
  Outcome outcome;
  EXPECT_THAT(testing::RunLearner(FilteredRun(), {.ranks = 2, .spoil = spoil}, &outcome),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("sample 2: behaviour_logprob of token 1 is nan")));
}

TEST(ImportanceCorrectionTest, WithoutItAnotherSamplerIsRejected) {
  Config config = testing::SmallRun();
  Outcome outcome;
  EXPECT_THAT(testing::RunLearner(config, {.ranks = 2, .spoil = HalveFirst}, &outcome),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("when the token was sampled with the same weights")));
}

}  // namespace
}  // namespace reprise::rl
