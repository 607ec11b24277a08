// Times whole training steps of the memory agent's last stage, without artifact and digests. Prints one line of JSON;
// with one thread its seconds are the processor's.
// compare.py compares it with the same loop in PyTorch (agent_peer.py) on the same weights.
//
//   agent_step MODEL_DIR THREADS STEPS [passes]
//
// MODEL_DIR contains an encoder and its action head, as a run of the memory agent exports them. A step plays 8 tasks x
// 8 samples of 4 to 8 operations, and makes 4 updates from them, with the divergence from the first policy in the loss.
//
// "passes", with one thread: after every step its passes are computed again, and nothing else, in "s_passes": the
// forward passes of drawing and of the reference, and the updates' passes over the distinct states of each shard.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/peers/step_clock.h"
#include "core/comm/self_communicator.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/isa/isa.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/policy/encoder/encoder_policy.h"
#include "rl/policy/encoder/text_decisions.h"
#include "rl/run/execution.h"
#include "rl/run/prepare.h"
#include "rl/workloads/completions/model_files.h"
#include "rl/workloads/memory_agent/memory_workload.h"

namespace reprise {
namespace {

using benchmarks::StepClock;

constexpr size_t kWarmUpSteps = 3;
constexpr int64_t kPrompts = 8, kSamples = 8, kShards = 4, kUpdates = 4;

struct StepTimes {
  double draw = 0, step = 0, passes = 0;
  int64_t decisions = 0, texts = 0;  // texts: distinct ones, for which drawing encodes
};

// Computes the passes of a step on this thread.
class Passes {
 public:
  explicit Passes(const rl::EncoderPolicy& policy)
      : policy_(policy),
        reference_(policy.FrozenCopy()),
        workspace_(policy.NewWorkspace({}, Team())),
        gradient_(static_cast<size_t>(policy.layout().total)) {}

  absl::Status Compute(const rl::StepEpisodes& drawn) {
    for (size_t t = 0;; ++t) {
      std::vector<std::vector<int32_t>> states;
      for (const rl::EpisodeRecord& episode : drawn.episode_N) {
        const auto& token_TS = rl::TextDecisionsIn(episode).token_TS;
        if (t < token_TS.size()) states.push_back(token_TS[t]);
      }
      if (states.empty()) break;
      RETURN_IF_ERROR(policy_.Encode(states, workspace_.get()).status());
    }
    const std::vector<rl::ShardInput> shards = SplitIntoShards(drawn);
    const auto unread = [](int64_t, absl::Span<const float>, absl::Span<const float>) {};
    for (const rl::ShardInput& shard : shards) reference_->Score(shard, 1.0f, unread, workspace_.get());
    const rl::EpisodeLoss loss = [](int64_t, const rl::DecisionScores&, const rl::DecisionGradients& gradients) {
      std::fill(gradients.dlogprob_T.begin(), gradients.dlogprob_T.end(), 1.0f);
      return absl::OkStatus();
    };
    for (int64_t update = 0; update < kUpdates; ++update) {
      for (const rl::ShardInput& shard : shards) {
        RETURN_IF_ERROR(policy_
                            .Accumulate({.temperature = 1,
                                         .totals = totals_,
                                         .loss = loss,
                                         .value_loss = no_values_,
                                         .reference = reference_.get()},
                                        shard, {.total = gradient_.data()}, workspace_.get())
                            .status());
      }
    }
    return absl::OkStatus();
  }

 private:
  static std::vector<rl::ShardInput> SplitIntoShards(const rl::StepEpisodes& drawn) {
    std::vector<rl::ShardInput> shards(kShards);
    for (int64_t prompt = 0; prompt < kPrompts; ++prompt) {
      rl::EpisodeGroup group = {.task = &drawn.task_P[prompt], .episode_G = {}, .index_G = {}};
      for (int64_t index = prompt * kSamples; index < (prompt + 1) * kSamples; ++index) {
        group.episode_G.push_back(&drawn.episode_N[index]);
        group.index_G.push_back(index);
      }
      shards[prompt * kShards / kPrompts].push_back(std::move(group));
    }
    return shards;
  }

  const rl::EncoderPolicy& policy_;
  const std::unique_ptr<rl::Policy> reference_;
  const std::unique_ptr<rl::PassWorkspace> workspace_;
  std::vector<float> gradient_;
  const rl::PassTotals totals_ = {};
  const rl::EpisodeValueLoss no_values_ = nullptr;
};

// Notes how long drawing takes, and keeps what was drawn last.
class TimedMemory : public rl::MemoryWorkload {
 public:
  TimedMemory(const rl::WorkloadRun& run, rl::EncoderPolicy& policy, const models::Tokenizer& tokenizer,
              std::vector<StepTimes>& times, rl::StepEpisodes* drawn)
      : MemoryWorkload(run, policy, tokenizer, /*earns_by_turn=*/true),
        clock_(run.config.execution.threads),
        times_(times),
        drawn_(drawn) {}

  absl::StatusOr<rl::StepEpisodes> Draw(const rl::StepPart& part) override {
    const double start = clock_.Seconds();
    absl::StatusOr<rl::StepEpisodes> drawn = MemoryWorkload::Draw(part);
    times_.push_back({.draw = clock_.Seconds() - start});
    const int64_t texts = execution_counts().front().second;
    times_.back().texts = texts - std::exchange(texts_, texts);
    if (!drawn.ok()) return drawn;
    times_.back().decisions = drawn->num_tokens;
    if (drawn_ != nullptr) *drawn_ = *drawn;
    return drawn;
  }

 private:
  const StepClock clock_;
  std::vector<StepTimes>& times_;
  rl::StepEpisodes* const drawn_;
  int64_t texts_ = 0;
};

// Prepared parts whose workload is timed.
class TimedWorkload : public rl::PreparedWorkload {
 public:
  TimedWorkload(std::unique_ptr<rl::PreparedWorkload> parts, models::Tokenizer tokenizer, std::vector<StepTimes>& times,
                rl::StepEpisodes* drawn)
      : parts_(std::move(parts)), tokenizer_(std::move(tokenizer)), times_(times), drawn_(drawn) {}

  rl::EncoderPolicy& policy() const override { return dynamic_cast<rl::EncoderPolicy&>(parts_->policy()); }
  absl::StatusOr<std::unique_ptr<rl::Workload>> Start(const rl::WorkloadRun& run) override {
    return std::make_unique<TimedMemory>(run, policy(), tokenizer_, times_, drawn_);
  }
  absl::Status Export(FileSystem& files, const std::string& directory) const override {
    return parts_->Export(files, directory);
  }

 private:
  const std::unique_ptr<rl::PreparedWorkload> parts_;
  const models::Tokenizer tokenizer_;
  std::vector<StepTimes>& times_;
  rl::StepEpisodes* const drawn_;
};

// Notes when each step ends, and then computes its passes, if there are any to compute.
class TimedSink : public rl::StepSink {
 public:
  TimedSink(const StepClock& clock, std::vector<StepTimes>& times, std::function<absl::Status()> passes)
      : clock_(clock), times_(times), passes_(std::move(passes)), begin_(clock.Seconds()) {}

  absl::StatusOr<bool> Commit(const rl::StepTables&) override {
    times_.back().step = clock_.Seconds() - begin_;
    if (passes_) {
      const double start = clock_.Seconds();
      RETURN_IF_ERROR(passes_());
      times_.back().passes = clock_.Seconds() - start;
    }
    begin_ = clock_.Seconds();
    return true;
  }
  bool WantsCheckpoint(rl::Phase, int64_t, bool) override { return false; }
  absl::Status Checkpoint(const rl::PolicyState&) override { return absl::OkStatus(); }
  bool WantsState(rl::Phase, int64_t, bool) override { return false; }
  absl::Status SaveState(const rl::PolicyState&) override { return absl::OkStatus(); }

 private:
  const StepClock clock_;
  std::vector<StepTimes>& times_;
  const std::function<absl::Status()> passes_;
  double begin_;
};

rl::Config MakeRunConfig(const std::string& model, int threads, int64_t steps) {
  rl::Config config;
  config.run.workload = "memory_agent";
  config.run.steps = steps;
  config.run.logical_shards = kShards;
  config.model.path = model;
  config.model.router_aux_loss_coef = 0;
  config.memory.stage1_steps = config.memory.stage2_steps = 0;
  config.memory.stage3_steps = steps;
  config.rollout.prompts_per_step = kPrompts;
  config.rollout.num_generations = kSamples;
  config.algorithm = rl::FindAlgorithm("agemem").value();
  config.optimizer.learning_rate = 1e-5;  // the policy remains nearly uniform, so that all steps are alike
  config.optimizer.schedule = rl::Schedule::kConstant;
  config.artifact.digest_every = 0;
  config.execution.threads = threads;
  return config;
}

template <typename Of>
double Median(const std::vector<StepTimes>& times, Of of) {
  std::vector<double> values;
  for (size_t i = std::min(times.size() - 1, kWarmUpSteps); i < times.size(); ++i) values.push_back(of(times[i]));
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Print(int threads, const std::vector<StepTimes>& times) {
  const auto rate = [](const StepTimes& of, double seconds) { return static_cast<double>(of.decisions) / seconds; };
  std::printf(
      "{\"what\": \"reprise_agent_step\", \"threads\": %d, \"decisions\": %lld, \"texts\": %.0f, \"s_step\": %.6f, "
      "\"s_draw\": %.6f, \"s_passes\": %.6f, \"sampled\": %.1f, \"learned\": %.1f}\n",
      threads, static_cast<long long>(times.back().decisions),
      Median(times, [](const StepTimes& of) { return static_cast<double>(of.texts); }),
      Median(times, [](const StepTimes& of) { return of.step; }),
      Median(times, [](const StepTimes& of) { return of.draw; }),
      Median(times, [](const StepTimes& of) { return of.passes; }),
      Median(times, [&](const StepTimes& of) { return rate(of, of.draw); }),
      Median(times, [&](const StepTimes& of) { return rate(of, of.step - of.draw); }));
}

absl::Status Run(const std::string& model, int threads, int64_t steps, bool computes_passes) {
  const rl::Config config = MakeRunConfig(model, threads, steps);
  ASSIGN_OR_RETURN(rl::RunParts parts, rl::PrepareRun(config));
  ASSIGN_OR_RETURN(models::Tokenizer tokenizer, rl::LoadTokenizer(config.model));
  std::vector<StepTimes> times;
  rl::StepEpisodes drawn;
  auto timed = std::make_unique<TimedWorkload>(std::move(parts.workload), std::move(tokenizer), times,
                                               computes_passes ? &drawn : nullptr);
  Passes passes(timed->policy());
  parts.workload = std::move(timed);
  SelfCommunicator comm;
  TimedSink sink(StepClock(threads), times,
                 computes_passes ? std::function<absl::Status()>([&] { return passes.Compute(drawn); }) : nullptr);
  ASSIGN_OR_RETURN(const auto execution,
                   rl::Execution::Create({.config = config, .parts = parts, .comm = comm, .sink = &sink}));
  RETURN_IF_ERROR(execution->learner().Run(0));
  Print(threads, times);
  return absl::OkStatus();
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  const bool computes_passes = argc == 5 && std::string(argv[4]) == "passes";
  const int threads = argc > 2 ? std::atoi(argv[2]) : 0;
  if ((argc != 4 && !computes_passes) || threads < 1 || (computes_passes && threads != 1)) {
    std::fprintf(stderr, "usage: agent_step MODEL_DIR THREADS STEPS, or agent_step MODEL_DIR 1 STEPS passes\n");
    return 64;
  }
  absl::Status status = reprise::kernels::InitializeIsa();
  if (status.ok()) status = reprise::Run(argv[1], threads, std::atoi(argv[3]), computes_passes);
  if (!status.ok()) std::fprintf(stderr, "agent_step: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 70;
}
