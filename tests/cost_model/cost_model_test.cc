// Promise: the operations of a step are those of the formulas in docs/performance.md
// (rl/workloads/completions/kind/completions_cost.h, rl/workloads/memory_agent/kind/memory_agent_cost.h).

#include <atomic>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "core/comm/testing/thread_communicator.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "kernels/products/substitute.h"
#include "pipelines/program/configuration.h"
#include "rl/config/check.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/record/completions/completion_record.h"
#include "rl/run/execution.h"
#include "rl/run/prepare.h"
#include "rl/workloads/completions/kind/completions_cost.h"
#include "rl/workloads/memory_agent/kind/memory_agent_cost.h"

namespace reprise {
namespace {

using rl::testing::Outcome;
using rl::testing::RunLearner;
using rl::testing::SmallRun;

// Counts the operations of every matrix product.
class CountedProducts : public kernels::ProductSubstitute {
 public:
  CountedProducts() { kernels::SubstituteProducts(this); }
  ~CountedProducts() override { kernels::SubstituteProducts(nullptr); }

  void Product(const kernels::ConstRows& x, const float*, const kernels::Rows& y,
               const std::function<void()>& own) override {
    operations += 2 * x.rows * y.width * x.width;
    own();
  }
  void WeightGradient(const kernels::ConstRows& dy, const kernels::ConstRows& x, bool, float*,
                      const std::function<void()>& own) override {
    operations += 2 * x.rows * dy.width * x.width;
    own();
  }
  void Packed(const float*, int64_t, int64_t, bool, float*) override {}

  std::atomic<int64_t> operations{0};
};

// Returns one shape for all steps of a run together, whose sums are exact for terms that are linear in rows.
rl::SequenceShape MakeSequenceShape(const rl::Config& config, const Outcome& outcome) {
  rl::SequenceShape shape = {.generations = static_cast<double>(config.rollout.num_generations)};
  double prompt_tokens = 0, completions = 0, completion_tokens = 0;
  for (const rl::StepRecord& record : outcome.sink.records) {
    shape.prompts += static_cast<double>(record.task_P.size());
    for (const rl::TaskRecord& task : record.task_P) {
      prompt_tokens += static_cast<double>(rl::CompletionOf(task).tokens.size());
    }
    for (const rl::EpisodeRecord& episode : record.episode_N) {
      completion_tokens += static_cast<double>(rl::CompletionOf(episode).tokens.size());
      ++completions;
    }
  }
  shape.prompt_tokens = prompt_tokens / shape.prompts;
  shape.completion_tokens = completion_tokens / completions;
  return shape;
}

rl::Config TrainingOnly() {
  rl::Config config = SmallRun();
  config.sft.steps = 0;
  config.run.steps = 2;
  return config;
}

TEST(CostModelTest, OperationsMatchTheFormulas) {
  rl::Config wide = TrainingOnly(), deep = TrainingOnly(), cut = TrainingOnly(), adapters = TrainingOnly();
  wide.model.hidden_size = 64;
  wide.model.num_key_value_heads = 4;
  wide.model.vocab_size = 250;
  deep.model.num_hidden_layers = 4;
  deep.model.num_experts_per_tok = 3;
  deep.execution.activation_checkpointing = true;
  cut.execution.micro_batch_tokens = 9;
  cut.algorithm.update.num_iterations = 1;
  adapters.lora.r = 8;
  for (const rl::Config& config : {wide, deep, cut, adapters}) {
    models::DecoderConfig decoder = rl::FromScratchDecoder(config.model);
    decoder.lora = rl::AdaptersOf(config.lora);
    for (int ranks : {1, 3}) {
      Outcome outcome;
      CountedProducts counted;
      ASSERT_OK(RunLearner(config, {.ranks = ranks}, &outcome));
      const double expected =
          rl::EstimateOperations(decoder, MakeSequenceShape(config, outcome), config.algorithm.update.num_iterations,
                                 config.execution.activation_checkpointing)
              .total();
      const double actual = static_cast<double>(counted.operations);
      std::printf("%d ranks: %.4g operations counted, %.4g by the formula\n", ranks, actual, expected);
      EXPECT_LT(std::fabs(actual - expected), 0.05 * expected);
    }
  }
}

// A sink that keeps nothing.
class NoSink : public rl::StepSink {
 public:
  absl::StatusOr<bool> Commit(const rl::StepTables&) override { return true; }
  bool WantsCheckpoint(rl::Phase, int64_t, bool) override { return false; }
  absl::Status Checkpoint(const rl::PolicyState&) override { return absl::OkStatus(); }
  bool WantsState(rl::Phase, int64_t, bool) override { return false; }
  absl::Status SaveState(const rl::PolicyState&) override { return absl::OkStatus(); }
};

absl::Status Train(const rl::Config& config, int ranks) {
  NoSink sink;
  return RunAsRanks(ranks, [&](Communicator& comm) -> absl::Status {
    ASSIGN_OR_RETURN(const rl::RunParts parts, rl::PrepareRun(config, ranks));
    ASSIGN_OR_RETURN(const auto execution,
                     rl::Execution::Create({.config = config, .parts = parts, .comm = comm, .sink = &sink}));
    return execution->learner().Run(0);
  });
}

// The policy learns so slowly that it draws all operations about equally often.
TEST(CostModelTest, OperationsOfAMemoryAgentAreEstimatedFromItsTasks) {
  const std::vector<std::string> base = {
      "run.steps=2",        "memory.stage1_steps=0",       "memory.stage2_steps=0",       "execution.threads=1",
      "evaluation.every=0", "optimizer.schedule=constant", "optimizer.learning_rate=1e-6"};
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"algorithm.minibatches_of=decisions", "algorithm.mini_batch_size=96", "execution.micro_batch_tokens=512"},
      {"algorithm.minibatches_of=episodes", "algorithm.num_mini_batches=3", "model.router_aux_loss_coef=0",
       "execution.activation_checkpointing=true"},
      {"algorithm.name=ppo", "memory.stage3_steps=0", "memory.stage2_steps=2"}};
  for (size_t i = 0; i < cases.size(); ++i) {
    std::vector<std::string> set = base;
    set.insert(set.end(), cases[i].begin(), cases[i].end());
    const int ranks = i % 2 == 0 ? 1 : 3;
    ASSERT_OK_AND_ASSIGN(const rl::ResolvedConfig resolved,
                         ReadConfiguration("configs/memory_agent.toml", {.set = set}, ranks, nullptr));
    ASSERT_OK_AND_ASSIGN(const rl::RunCost cost, rl::EstimateMemoryAgent(resolved.config, ranks, /*threads=*/1));
    CountedProducts counted;
    ASSERT_OK(Train(resolved.config, ranks));
    const double expected = 2 * cost.operations.total(), actual = static_cast<double>(counted.operations);
    std::printf("%d ranks: %.4g operations counted, %.4g expected\n", ranks, actual, expected);
    EXPECT_LT(std::fabs(actual - expected), 0.1 * expected);
  }
}

}  // namespace
}  // namespace reprise
