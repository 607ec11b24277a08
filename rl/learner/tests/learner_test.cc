// Tests of the whole training loop, in memory: it gives the same records for any ranks, threads, batches and slots, and
// in a replay.

#include "rl/learner/learner.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

using testing::ExpectSame;
using testing::Outcome;
using testing::RunLearner;
using testing::SmallRun;

const Outcome& Baseline() {
  static const Outcome* const outcome = [] {
    auto* result = new Outcome;
    EXPECT_OK(RunLearner(SmallRun(), {}, result));
    return result;
  }();
  return *outcome;
}

TEST(LearnerTest, RecordsEveryStepAndChangesEveryTensor) {
  const std::vector<StepRecord>& records = Baseline().sink.records;
  ASSERT_EQ(records.size(), 7u);
  EXPECT_EQ(records[0].phase, Phase::kSft);
  EXPECT_EQ(records[3].phase, Phase::kTraining);
  EXPECT_EQ(records[3].episode_N.size(), 44u);
  for (size_t tensor = 0; tensor < records[0].weight_digests.size(); ++tensor) {
    EXPECT_NE(records[0].weight_digests[tensor], records[6].weight_digests[tensor]) << tensor;
  }
}

TEST(LearnerTest, SampledAndRecomputedLogProbabilitiesAreEqualInEveryStep) {
  for (const StepRecord& record : Baseline().sink.records) {
    if (record.phase == Phase::kSft) continue;
    for (const auto& [name, value] : record.metrics) {
      if (name == "sampling/sampling_logp_difference/max") {
        EXPECT_EQ(value, 0.0) << record.step;
      }
    }
  }
}

TEST(LearnerTest, GivesTheSameRecordsOnAnyNumberOfRanks) {
  for (int ranks : {2, 3, 5, 8}) {
    Outcome outcome;
    ASSERT_OK(RunLearner(SmallRun(), {.ranks = ranks}, &outcome));
    ExpectSame(Baseline(), outcome);
  }
}

TEST(LearnerTest, GivesTheSameRecordsForAnyExecutionKeys) {
  Config config = SmallRun();
  config.execution.threads = 3;
  config.execution.micro_batch_tokens = 9;
  config.execution.decode_slots = 3;
  config.execution.activation_checkpointing = true;
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {.ranks = 2}, &outcome));
  ExpectSame(Baseline(), outcome);
  EXPECT_GT(outcome.refills, 0);
  EXPECT_GT(outcome.counts.cut_groups, 0);
  EXPECT_GT(outcome.counts.micro_batches, Baseline().counts.micro_batches);
  EXPECT_EQ(outcome.counts.prompt_rows, Baseline().counts.prompt_rows);
}

TEST(LearnerTest, ThreadsWithoutAShardHelpOtherThreads) {
  Config config = SmallRun();
  config.run.logical_shards = 1;
  Outcome alone, helped;
  ASSERT_OK(RunLearner(config, {}, &alone));
  EXPECT_EQ(alone.counts.helped_pieces, 0);
  config.execution.threads = 3;
  // A run takes only milliseconds: on a busy machine it may end before a second thread wakes up.
  for (int attempt = 0; attempt < 50 && helped.counts.helped_pieces == 0; ++attempt) {
    helped = Outcome();
    ASSERT_OK(RunLearner(config, {}, &helped));
    ExpectSame(alone, helped);
  }
  EXPECT_GT(helped.counts.helped_pieces, 0);
}

// Buckets are small, so that many of them can be sent early.
TEST(LearnerTest, GivesTheSameRecordsWhetherOrNotTheExchangeOverlapsTheBackwardPass) {
  for (bool overlap : {true, false}) {
    for (int ranks : {2, 3, 4}) {
      for (int threads : {1, 2}) {
        for (int64_t micro_batch : {0, 9}) {
          Config config = SmallRun();
          config.execution.threads = threads;
          config.execution.micro_batch_tokens = micro_batch;
          config.execution.overlap = overlap;
          config.execution.exchange_floats = 1024;
          Outcome outcome;
          ASSERT_OK(RunLearner(config, {.ranks = ranks}, &outcome));
          ExpectSame(Baseline(), outcome);
          EXPECT_GT(outcome.counts.exchange.buckets, 0);
          EXPECT_EQ(outcome.counts.exchange.early_buckets > 0, overlap);
        }
      }
    }
  }
}

TEST(LearnerTest, AReplayOfTheTokensGivesTheSameRecords) {
  Outcome outcome;
  ASSERT_OK(RunLearner(SmallRun(), {.ranks = 3, .replay = &Baseline().sink.records}, &outcome));
  ExpectSame(Baseline(), outcome);
}

TEST(LearnerTest, AReplayGivesTheSameRecordsWithoutLoadBalancing) {
  Config config = SmallRun();
  config.model.router_aux_loss_coef = 0;
  Outcome live, replayed;
  ASSERT_OK(RunLearner(config, {}, &live));
  ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &live.sink.records}, &replayed));
  ExpectSame(live, replayed);
}

// Adapters of attention, experts and all of them, with dropout, whose masks are those of sampling.
TEST(LearnerTest, AdaptersGiveTheSameRecordsForAnyExecutionAndInAReplay) {
  Config config = SmallRun();
  config.lora.r = 3;
  config.lora.dropout = 0.2;
  SetBeta(0.05, &config.algorithm);
  Outcome one, shared, pieces, replayed;
  ASSERT_OK(RunLearner(config, {}, &one));
  for (const StepRecord& record : one.sink.records) {
    for (const auto& [name, value] : record.metrics) {
      if (name == "sampling/sampling_logp_difference/max") {
        EXPECT_EQ(value, 0.0) << record.step;
      }
    }
  }
  const std::vector<StepRecord>& records = one.sink.records;
  const size_t tensors = records[0].weight_digests.size();
  EXPECT_EQ(tensors, 2u * 2 * (4 + 3 * 8));  // of two layers: A and B of attention's matrices and the experts'
  for (size_t tensor = 0; tensor < tensors; ++tensor) {
    EXPECT_NE(records.front().weight_digests[tensor], records.back().weight_digests[tensor]) << tensor;
  }
  ASSERT_OK(RunLearner(config, {.ranks = 3}, &shared));
  ExpectSame(one, shared);
  ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &records}, &replayed));
  ExpectSame(one, replayed);
  config.execution.threads = 3;
  config.execution.micro_batch_tokens = 9;
  config.execution.decode_slots = 3;
  config.execution.activation_checkpointing = true;
  ASSERT_OK(RunLearner(config, {.ranks = 2}, &pieces));
  ExpectSame(one, pieces);
}

TEST(LearnerTest, AnotherSeedGivesOtherRecords) {
  Config config = SmallRun();
  config.run.seed = 8;
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {}, &outcome));
  EXPECT_TRUE(FirstDivergence(Baseline().sink.records[0], outcome.sink.records[0], {}).has_value());
}

}  // namespace
}  // namespace reprise::rl
