// The loop as a whole, in memory: the same records for any ranks, threads, batches and slots, and a replay that agrees.

#include "rl/learner/learner.h"

#include <mutex>
#include <optional>

#include "core/comm/thread_communicator.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/learner/divergence.h"
#include "rl/learner/sources.h"
#include "rl/run/prepare.h"

namespace reprise::rl {
namespace {

Config SmallRun() {
  Config config;
  config.run.seed = 7;
  config.run.steps = 4;
  config.model.hidden_size = 32;
  config.model.intermediate_size = 24;
  config.model.num_key_value_heads = 2;
  config.model.initializer_range = 0.1;
  config.data.min_length = 2;
  config.data.max_length = 4;
  config.data.alphabet_size = 4;
  config.warm_up.steps = 3;
  config.warm_up.prompts_per_step = 12;
  config.rollout.prompts_per_step = 11;  // no multiple of the shards
  config.rollout.num_generations = 4;
  config.rollout.max_completion_length = 7;
  config.algorithm.num_iterations = 2;
  config.algorithm.reward = "character_match";
  config.optimizer.learning_rate = 1e-3;
  return config;
}

class MemorySink : public StepSink {
 public:
  absl::StatusOr<bool> Commit(const StepRecord& record) override {
    records.push_back(record);
    return true;
  }
  bool WantsCheckpoint(Phase, int64_t step) override { return step == 4; }
  absl::Status Checkpoint(int64_t, absl::Span<const TensorView> weights, absl::Span<const TensorView> first,
                          absl::Span<const TensorView> second) override {
    for (const auto& tensors : {weights, first, second}) {
      for (const TensorView& tensor : tensors) checkpoint.push_back(Sha256(tensor.bytes));
    }
    return absl::OkStatus();
  }
  std::vector<StepRecord> records;
  std::vector<Digest> checkpoint;
};

struct Outcome {
  MemorySink sink;
  LearnerCounts counts;  // of all ranks
  int64_t refills = 0;
};

// `replay`: records to replay instead of sampling; null: live.
void RunLearner(const Config& config, int ranks, const std::vector<StepRecord>* replay, Outcome* outcome) {
  std::mutex mutex;
  ASSERT_OK(RunAsRanks(ranks, [&](Communicator& comm) -> absl::Status {
    ThreadPool pool(ThreadsOf(config.execution, 1));
    auto parts = PrepareRun(config, pool);
    if (!parts.ok()) return parts.status();
    LiveSource live(*parts->model, *parts->tokenizer, GenerateOptionsOf(config, parts->model->config().eos_token_id),
                    pool);
    std::optional<ReplaySource> replayed;
    if (replay != nullptr) replayed.emplace(*replay, parts->model->config(), config.rollout.num_generations);
    auto learner = Learner::Create({config, *parts->model, *parts->tokenizer,
                                    replay != nullptr ? static_cast<EpisodeSource&>(*replayed) : live,
                                    comm.rank() == 0 ? &outcome->sink : nullptr, comm, pool});
    if (!learner.ok()) return learner.status();
    const absl::Status status = (*learner)->Run(0);
    const std::lock_guard<std::mutex> lock(mutex);
    outcome->counts.prompt_rows += (*learner)->counts().prompt_rows;
    outcome->counts.micro_batches += (*learner)->counts().micro_batches;
    outcome->counts.cut_groups += (*learner)->counts().cut_groups;
    outcome->refills += live.refills();
    return status;
  }));
}

const Outcome& Baseline() {
  static const Outcome* const outcome = [] {
    auto* result = new Outcome;
    RunLearner(SmallRun(), 1, nullptr, result);
    return result;
  }();
  return *outcome;
}

void ExpectSame(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.sink.records.size(), b.sink.records.size());
  for (size_t i = 0; i < a.sink.records.size(); ++i) {
    const auto divergence = FirstDivergence(a.sink.records[i], b.sink.records[i], {});
    ASSERT_FALSE(divergence.has_value()) << divergence->ToString();
  }
  EXPECT_EQ(a.sink.checkpoint, b.sink.checkpoint);
}

TEST(LearnerTest, RecordsEveryStepAndChangesEveryTensor) {
  const std::vector<StepRecord>& records = Baseline().sink.records;
  ASSERT_EQ(records.size(), 7u);
  EXPECT_EQ(records[0].phase, Phase::kWarmUp);
  EXPECT_EQ(records[3].phase, Phase::kTraining);
  EXPECT_EQ(records[3].episode_N.size(), 44u);
  for (size_t tensor = 0; tensor < records[0].weight_digests.size(); ++tensor) {
    EXPECT_NE(records[0].weight_digests[tensor], records[6].weight_digests[tensor]) << tensor;
  }
}

TEST(LearnerTest, SampledAndRecomputedLogProbabilitiesAreEqualInEveryStep) {
  for (const StepRecord& record : Baseline().sink.records) {
    if (record.phase == Phase::kWarmUp) continue;
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
    RunLearner(SmallRun(), ranks, nullptr, &outcome);
    ExpectSame(Baseline(), outcome);
  }
}

TEST(LearnerTest, GivesTheSameRecordsForAnyExecutionKeys) {
  Config config = SmallRun();
  config.execution.threads = 3;
  config.execution.micro_batch_tokens = 9;
  config.execution.decode_slots = 3;
  Outcome outcome;
  RunLearner(config, 2, nullptr, &outcome);
  ExpectSame(Baseline(), outcome);
  EXPECT_GT(outcome.refills, 0);
  EXPECT_GT(outcome.counts.cut_groups, 0);
  EXPECT_GT(outcome.counts.micro_batches, Baseline().counts.micro_batches);
  EXPECT_EQ(outcome.counts.prompt_rows, Baseline().counts.prompt_rows);
}

TEST(LearnerTest, AReplayOfTheTokensGivesTheSameRecords) {
  Outcome outcome;
  RunLearner(SmallRun(), 3, &Baseline().sink.records, &outcome);
  ExpectSame(Baseline(), outcome);
}

TEST(LearnerTest, AnotherSeedGivesOtherRecords) {
  Config config = SmallRun();
  config.run.seed = 8;
  Outcome outcome;
  RunLearner(config, 1, nullptr, &outcome);
  EXPECT_TRUE(FirstDivergence(Baseline().sink.records[0], outcome.sink.records[0], {}).has_value());
}

}  // namespace
}  // namespace reprise::rl
