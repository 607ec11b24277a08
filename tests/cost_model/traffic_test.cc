// Promise: ranks send what the formulas in docs/performance.md (pipelines/estimate/traffic_estimate.h) predict:
// messages and bytes of the exchange, and calls and messages of small collectives.

#include <cstdio>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/parameters.h"
#include "pipelines/estimate/traffic_estimate.h"
#include "rl/config/check.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/choices.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise {
namespace {

using rl::testing::Outcome;
using rl::testing::RunLearner;

rl::Config SmallTraining() {
  rl::Config config = rl::testing::SmallRun();
  config.sft.steps = 0;
  config.run.steps = 2;
  return config;
}

// A model whose exchange takes many buckets.
rl::Config ManyBuckets() {
  rl::Config config = SmallTraining();
  config.model.hidden_size = 64;
  config.model.intermediate_size = 128;
  config.model.tie_word_embeddings = true;
  config.execution.exchange_floats = 10000;
  return config;
}

void ExpectCounted(const char* what, int ranks, int64_t actual, double expected) {
  std::printf("%d ranks: %.8g %s counted, %.8g by the formula\n", ranks, static_cast<double>(actual), what, expected);
  EXPECT_EQ(static_cast<double>(actual), expected) << what;
}

// Executes a whole run, whose last step writes a checkpoint and computes digests even if no other step does.
void ExpectTrafficOfTheFormulas(const rl::Config& config, int ranks) {
  SCOPED_TRACE(ranks);
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {.ranks = ranks}, &outcome));
  ASSERT_OK_AND_ASSIGN(const rl::Choices choices, rl::ResolveChoices(config));
  ASSERT_OK_AND_ASSIGN(const models::DecoderConfig decoder, rl::ReadTrainedDecoderConfig(config));
  const ExchangeTraffic exchange = EstimateExchange(config, models::MakeDecoderLayout(decoder), ranks);
  CollectiveCalls calls = CollectivesOfStep(config, choices);
  calls.to_all = config.run.steps * calls.to_all + kCollectivesOfState;
  calls.to_root *= config.run.steps;
  if (config.artifact.digest_every == 0) {
    ++calls.to_all;
    ++calls.to_root;
  }
  const double updates = static_cast<double>(config.run.steps * UpdatesOfStep(config, choices));
  const double exchanged = updates * exchange.update().messages + exchange.state.messages;
  EXPECT_EQ(static_cast<double>(outcome.counts.exchange.buckets),
            updates * static_cast<double>(ranks * exchange.buckets));
  ExpectCounted("messages of the exchange", ranks, outcome.exchange_traffic.messages, exchanged);
  ExpectCounted("bytes of the exchange", ranks, outcome.exchange_traffic.bytes,
                updates * exchange.update().bytes + exchange.state.bytes);
  ExpectCounted("messages", ranks, outcome.traffic.messages, exchanged + calls.messages(ranks));
  ExpectCounted("calls of small collectives", ranks, outcome.traffic.collectives - outcome.exchange_traffic.collectives,
                ranks == 1 ? 0.0 : static_cast<double>(ranks * calls.total()));
}

TEST(TrafficTest, TrafficOfOneBucketMatchesTheFormulas) {
  for (int ranks : {1, 2, 3, 4, 8}) ExpectTrafficOfTheFormulas(SmallTraining(), ranks);
}

TEST(TrafficTest, TrafficOfManyBucketsMatchesTheFormulas) {
  const rl::Config config = ManyBuckets();
  for (int ranks : {2, 3, 4, 8}) {
    EXPECT_GT(EstimateExchange(config, models::MakeDecoderLayout(rl::FromScratchDecoder(config.model)), ranks).buckets,
              5);
    ExpectTrafficOfTheFormulas(config, ranks);
  }
}

TEST(TrafficTest, TrafficOfStepsWithoutDigestsMatchesTheFormulas) {
  rl::Config config = SmallTraining();
  config.artifact.digest_every = 0;
  for (int ranks : {2, 3}) ExpectTrafficOfTheFormulas(config, ranks);
}

// If MPI sums, only gradients are exchanged.
TEST(TrafficTest, TrafficOfSumsInAnyOrderMatchesTheFormulas) {
  rl::Config config = ManyBuckets();
  config.run.reduction = rl::Reduction::kFast;
  for (int ranks : {2, 3, 4}) ExpectTrafficOfTheFormulas(config, ranks);
}

TEST(TrafficTest, AValueFunctionIsCounted) {
  rl::Config config = SmallTraining();
  SelectPreset("ppo", &config.algorithm);
  config.algorithm.has_value_network = true;
  for (int ranks : {2, 3}) ExpectTrafficOfTheFormulas(config, ranks);
}

TEST(TrafficTest, MinibatchesEntropiesAndEarlyStopsAreCounted) {
  rl::Config config = SmallTraining();
  config.algorithm.update.num_mini_batches = 2;
  config.algorithm.loss.top_entropy_quantile = 0.5;
  config.algorithm.update.target_kl = 1e6;
  for (int ranks : {2, 3}) ExpectTrafficOfTheFormulas(config, ranks);
}

TEST(TrafficTest, MinibatchesOfDecisionsAndOfAGivenSizeAreCounted) {
  rl::Config decisions = SmallTraining(), sized = SmallTraining();
  decisions.algorithm.update.num_mini_batches = 3;
  decisions.algorithm.update.unit = rl::MinibatchUnit::kDecision;
  sized.algorithm.update.mini_batch_size = 2;
  for (int ranks : {2, 3}) {
    ExpectTrafficOfTheFormulas(decisions, ranks);
    ExpectTrafficOfTheFormulas(sized, ranks);
  }
}

TEST(TrafficTest, GreedyBaselinesAndDivergencesInRewardsWithAScheduleAreCounted) {
  rl::Config config = SmallTraining();
  config.algorithm.advantage.baseline = rl::Baseline::kGreedy;
  rl::SetBeta(0.1, &config.algorithm);
  rl::SetKlInReward(true, &config.algorithm);
  config.algorithm.kl.schedule = rl::KlSchedule::kLinear;
  for (int ranks : {2, 3}) ExpectTrafficOfTheFormulas(config, ranks);
}

TEST(TrafficTest, OptimalValuesAndAnAdaptiveEntropyCoefficientAreCounted) {
  rl::Config config = SmallTraining();
  SelectPreset("a2po", &config.algorithm);
  config.algorithm.entropy.adaptive = true;
  for (int ranks : {2, 3}) ExpectTrafficOfTheFormulas(config, ranks);
}

}  // namespace
}  // namespace reprise
