// Times whole GRPO steps of Reprise as its peers' scripts time theirs: fixed shapes, no end tokens, no artifact.
// Prints one line of JSON. compare.py compares it with TRL on the same weights and prompts.
//
//   grpo_step MODEL_DIR THREADS COMPLETION_LENGTH STEPS [MODE]
//
// MODEL_DIR may contain problems.jsonl; otherwise the task is to write words backwards. "micro" instead of a directory
// is trl_peer.py's model of that name with random weights and a vocabulary of 256 tokens.
//
// MODE "ordered", the default: sums in a fixed order; "apart": gradients are sent only when all are computed
// (execution.overlap = false); "fast": sums in any order (run.reduction = "fast"); "half": half of the prompts, which
// is the work of one of two ranks without messages, so that two such programs at the same time are the upper bound for
// two ranks; "muon": updates by MuonGrokfast. Under mpirun the ranks share the step, and times are rank 0's.
//
// cpu_step is the processor time of a step, of all threads; cpu_update that of an update alone, by the same optimizer,
// with random gradients on one thread: other programs on the machine hardly change their ratio.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/comm/mpi/world.h"
#include "kernels/isa/isa.h"
#include "kernels/testing/kernel_testing.h"
#include "pipelines/training/reduction.h"
#include "rl/episodes/sources.h"
#include "rl/gradient/sharded_optimizer.h"
#include "rl/run/execution.h"
#include "rl/run/prepare.h"
#include "rl/workloads/completions/options.h"
#include "rl/workloads/completions/prepared_completions.h"

namespace reprise {
namespace {

constexpr int kWarmUpSteps = 3;

double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Samples without end tokens, and measures the sampling time of each step.
class TimedSource : public rl::EpisodeSource {
 public:
  TimedSource(const rl::Config& config, const rl::PreparedCompletions& completions, ThreadPool& pool,
              std::vector<double>& seconds)
      : source_(*completions.model, *completions.tokenizer, rl::MakeGenerateOptions(config, *completions.tokenizer, {}),
                pool),
        seconds_(seconds) {}
  absl::StatusOr<rl::Episodes> Draw(rl::Phase phase, int64_t step, const std::vector<rl::TaskRecord>& tasks) override {
    const double start = Seconds();
    auto episodes = source_.Draw(phase, step, tasks);
    seconds_.push_back(Seconds() - start);
    return episodes;
  }

 private:
  rl::LiveSource source_;
  std::vector<double>& seconds_;
};

class TimedCompletions : public rl::PreparedCompletions {
 public:
  TimedCompletions(PreparedCompletions prepared, std::vector<double>& seconds)
      : PreparedCompletions(std::move(prepared)), seconds_(seconds) {}

  absl::StatusOr<std::unique_ptr<rl::Workload>> Start(const rl::WorkloadRun& run) override {
    absl::StatusOr<rl::CompletionsDeps> parts = MakeDeps(run);
    if (!parts.ok()) return parts.status();
    parts->source = std::make_unique<TimedSource>(run.config, *this, run.pool, seconds_);
    return rl::CompletionsWorkload::Create(*std::move(parts));
  }

 private:
  std::vector<double>& seconds_;
};

// Notes when each step ends.
class TimedSink : public rl::StepSink {
 public:
  absl::StatusOr<bool> Commit(const rl::StepTables& step) override {
    const double now = Seconds(), processor_now = ProcessorSeconds();
    seconds.push_back(now - last_);
    processor_seconds.push_back(processor_now - processor_last_);
    last_ = now;
    processor_last_ = processor_now;
    const StreamTable& turns = *step.Find("turns");
    tokens = static_cast<int64_t>(turns.Values<int32_t>(*FindColumn(turns.schema(), "tokens")).size());
    return true;
  }
  bool WantsCheckpoint(rl::Phase, int64_t, bool) override { return false; }
  absl::Status Checkpoint(const rl::PolicyState&) override { return absl::OkStatus(); }
  bool WantsState(rl::Phase, int64_t, bool) override { return false; }
  absl::Status SaveState(const rl::PolicyState&) override { return absl::OkStatus(); }
  std::vector<double> seconds, processor_seconds;
  int64_t tokens = 0;

 private:
  double last_ = Seconds(), processor_last_ = ProcessorSeconds();
};

double Median(std::vector<double> values) {
  values.erase(values.begin(), values.begin() + std::min<size_t>(values.size() - 1, kWarmUpSteps));
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Returns the processor time of the fastest of three updates of all parameters.
double UpdateSeconds(const rl::OptimizerConfig& config, const FlatLayout& layout) {
  const std::vector<rl::ParameterUnit> units = rl::MakeParameterUnits(layout);
  const std::unique_ptr<rl::ShardedOptimizer> optimizer = rl::MakeOptimizer(config);
  optimizer->Reset(layout, units);
  const std::vector<float> gradient = testing::RandomFloats(layout.total, 1);
  std::vector<float> parameters = testing::RandomFloats(layout.total, 2);
  double best = std::numeric_limits<double>::infinity();
  for (int64_t number = 1; number <= 3; ++number) {
    const double start = ProcessorSeconds();
    const rl::OptimizerStep step = {number, config.learning_rate, 1, gradient, absl::MakeSpan(parameters)};
    for (const rl::ParameterUnit& unit : units) optimizer->Update(step, {unit.offset, unit.size});
    best = std::min(best, ProcessorSeconds() - start);
  }
  return best;
}

absl::Status Run(Communicator& comm, const std::string& model, int threads, int64_t length, int64_t steps,
                 const std::string& mode) {
  rl::Config config;
  config.run.steps = steps;
  if (model == "micro") {
    config.model.vocab_size = 256;  // one token for each byte
    config.model.hidden_size = config.model.intermediate_size = 256;
    config.model.num_hidden_layers = 4;
    config.model.num_attention_heads = config.model.num_key_value_heads = 8;
    config.model.num_experts = 16;
    config.model.num_experts_per_tok = 4;
  } else {
    config.model.path = model;
  }
  config.data.task = "reverse";
  config.data.min_length = config.data.max_length = 15;  // 16 tokens including the "="
  const std::string problems = model + "/problems.jsonl";
  if (std::filesystem::exists(problems)) config.data.path = problems;
  config.rollout.prompts_per_step = mode == "half" ? 4 : 8;
  config.rollout.num_generations = 8;
  config.rollout.max_completion_length = length;
  config.algorithm.reward.functions = "character_match";
  config.optimizer.learning_rate = 1e-4;
  config.optimizer.schedule = rl::Schedule::kConstant;
  if (mode == "muon") config.optimizer.name = rl::OptimizerName::kMuonGrokfast;
  config.artifact.digest_every = 0;
  config.execution.threads = threads;
  config.execution.overlap = mode != "apart";
  if (mode == "fast") config.run.reduction = rl::Reduction::kFast;
  if (absl::Status status = PrepareReduction(config.run); !status.ok()) return status;
  absl::StatusOr<rl::RunParts> parts = rl::PrepareRun(config);
  if (!parts.ok()) return parts.status();
  TimedSink sink;
  std::vector<double> sampling;
  parts->workload = std::make_unique<TimedCompletions>(std::move(rl::GetPreparedCompletions(*parts)), sampling);
  const auto execution = rl::Execution::Create({.config = config, .parts = *parts, .comm = comm, .sink = &sink});
  if (!execution.ok()) return execution.status();
  if (absl::Status status = (*execution)->learner().Run(0); !status.ok()) return status;
  if (comm.rank() != 0) return absl::OkStatus();
  std::printf(
      "{\"what\": \"reprise_step\", \"mode\": \"%s\", \"ranks\": %d, \"threads\": %d, \"completion\": %d, \"tokens\": "
      "%d, \"s_step\": %.6f, "
      "\"s_gen\": %.6f, \"cpu_step\": %.6f, \"cpu_update\": %.6f}\n",
      mode.c_str(), comm.size(), threads, static_cast<int>(length), static_cast<int>(sink.tokens), Median(sink.seconds),
      Median(sampling), Median(sink.processor_seconds),
      UpdateSeconds(config.optimizer, parts->workload->policy().layout()));
  return absl::OkStatus();
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::fprintf(stderr, "usage: grpo_step MODEL_DIR THREADS COMPLETION_LENGTH STEPS [ordered|apart|fast|half|muon]\n");
    return 64;
  }
  absl::Status status = reprise::kernels::InitializeIsa();
  absl::StatusOr<std::unique_ptr<reprise::Communicator>> world = reprise::StartWorld(0);
  if (status.ok()) status = world.status();
  if (status.ok()) {
    status = reprise::Run(**world, argv[1], std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]),
                          argc == 6 ? argv[5] : "ordered");
  }
  if (status.ok()) status = reprise::FinishWorld(*std::move(world));
  if (!status.ok()) std::fprintf(stderr, "grpo_step: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 70;
}
