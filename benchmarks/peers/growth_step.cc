// Times whole training steps of networks that grow, without artifact and digests. Prints one line of JSON; with one
// thread its seconds are the processor's. compare.py compares it with the same loop in PyTorch (growth_peer.py).
//
//   growth_step CONFIG THREADS STEPS [hosts] [--set KEY=VALUE]...
//
// CONFIG is a configuration of run.workload morphogenesis. Its learning rate is lowered, so that the controller stays
// as random as it begins and all steps are alike.
//
// "hosts", with one thread: after every step as many hosts are trained and validated for as many epochs, without seeds,
// controllers and records, in "s_hosts". Their examples are prepared before.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmarks/peers/step_clock.h"
#include "core/comm/self_communicator.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "kernels/isa/isa.h"
#include "models/morphogenesis/host_session.h"
#include "rl/config/load.h"
#include "rl/run/execution.h"
#include "rl/run/prepare.h"
#include "rl/workloads/morphogenesis/growth_episode.h"
#include "rl/workloads/morphogenesis/growth_examples.h"
#include "rl/workloads/morphogenesis/play_growth.h"

namespace reprise {
namespace {

using benchmarks::StepClock;

// Hosts that nothing grows in.
class PlainHosts {
 public:
  static absl::StatusOr<PlainHosts> Create(const rl::Config& config) {
    ASSIGN_OR_RETURN(rl::GrowthRules rules, rl::GrowthRules::Of(config));
    std::vector<rl::ExternalFile> files;
    ASSIGN_OR_RETURN(rl::GrowthExamples examples,
                     rl::GrowthExamples::Load(config.morphogenesis, /*seed=*/1, PosixFileSystem(), &files));
    return PlainHosts(config.morphogenesis, std::move(rules), std::move(examples));
  }

  // Trains and validates a host; returns the seconds of that alone.
  absl::StatusOr<double> Train(const StepClock& clock, uint64_t host_seed) const {
    ASSIGN_OR_RETURN(const auto host,
                     models::HostSession::Create(rl::MakeSessionOptions(config_, rules_), {.seed = host_seed}));
    rl::GrowthBatches batches;
    double seconds = 0;
    for (int64_t epoch = 1; epoch <= rules_.task.max_epochs; ++epoch) {
      examples_.TrainingEpoch(host_seed, epoch, &batches);
      const double start = clock.Seconds();
      RETURN_IF_ERROR(host->TrainOneEpoch(batches.batches).status());
      RETURN_IF_ERROR(host->Evaluate(examples_.validation().batches).status());
      seconds += clock.Seconds() - start;
    }
    return seconds;
  }

 private:
  PlainHosts(const rl::MorphogenesisConfig& config, rl::GrowthRules rules, rl::GrowthExamples examples)
      : config_(config), rules_(std::move(rules)), examples_(std::move(examples)) {}

  rl::MorphogenesisConfig config_;
  rl::GrowthRules rules_;
  rl::GrowthExamples examples_;
};

// Adds up the seconds of steps and of plain hosts. The first step does not count: it warms caches and pages.
class TimedSink : public rl::StepSink {
 public:
  TimedSink(const rl::Config& config, const PlainHosts* hosts)
      : clock_(config.execution.threads),
        episodes_(config.rollout.prompts_per_step * config.rollout.num_generations),
        hosts_(hosts),
        begin_(clock_.Seconds()) {}

  absl::StatusOr<bool> Commit(const rl::StepTables&) override {
    const double seconds = clock_.Seconds() - begin_;
    if (counts_) steps_ += seconds, ++num_steps_;
    for (int64_t episode = 0; hosts_ != nullptr && counts_ && episode < episodes_; ++episode) {
      ASSIGN_OR_RETURN(const double of_host,
                       hosts_->Train(clock_, static_cast<uint64_t>(num_steps_ * episodes_ + episode)));
      plain_ += of_host;
    }
    counts_ = true;
    begin_ = clock_.Seconds();
    return true;
  }
  bool WantsCheckpoint(rl::Phase, int64_t, bool) override { return false; }
  absl::Status Checkpoint(const rl::PolicyState&) override { return absl::OkStatus(); }
  bool WantsState(rl::Phase, int64_t, bool) override { return false; }
  absl::Status SaveState(const rl::PolicyState&) override { return absl::OkStatus(); }

  void Print(int threads) const {
    const double n = static_cast<double>(num_steps_);
    std::printf(
        "{\"what\": \"reprise_growth_step\", \"threads\": %d, \"episodes\": %lld, \"s_step\": %.6f, \"s_hosts\": %.6f, "
        "\"episodes_per_s\": %.4f}\n",
        threads, static_cast<long long>(episodes_), steps_ / n, plain_ / n,
        n * static_cast<double>(episodes_) / steps_);
  }

 private:
  const StepClock clock_;
  const int64_t episodes_;  // of a step
  const PlainHosts* const hosts_;
  double begin_, steps_ = 0, plain_ = 0;
  int64_t num_steps_ = 0;
  bool counts_ = false;
};

struct Options {
  std::string config = {};
  int threads = 0;
  int64_t steps = 0;
  bool has_hosts = false;
  std::vector<std::string> overrides = {};
};

absl::StatusOr<rl::Config> MakeRunConfig(const Options& options) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(PosixFileSystem(), options.config, 1 << 20));
  ASSIGN_OR_RETURN(const rl::ResolvedConfig resolved, rl::LoadConfig(text, options.config, options.overrides));
  rl::Config config = resolved.config;
  config.run.steps = options.steps + 1;
  config.optimizer.learning_rate = 1e-6;
  config.evaluation.every = 0;
  config.evaluation.on_start = false;
  config.artifact.digest_every = 0;
  config.execution.threads = options.threads;
  return config;
}

absl::Status Run(const Options& options) {
  ASSIGN_OR_RETURN(const rl::Config config, MakeRunConfig(options));
  ASSIGN_OR_RETURN(const rl::RunParts parts, rl::PrepareRun(config));
  ASSIGN_OR_RETURN(const PlainHosts hosts, PlainHosts::Create(config));
  SelfCommunicator comm;
  TimedSink sink(config, options.has_hosts ? &hosts : nullptr);
  ASSIGN_OR_RETURN(const auto execution,
                   rl::Execution::Create({.config = config, .parts = parts, .comm = comm, .sink = &sink}));
  RETURN_IF_ERROR(execution->learner().Run(0));
  sink.Print(options.threads);
  return absl::OkStatus();
}

// Returns no threads for arguments that are none of the program's.
Options ParseOptions(const std::vector<std::string>& words) {
  if (words.size() < 3) return {};
  Options options = {.config = words[0], .threads = std::atoi(words[1].c_str()), .steps = std::atoi(words[2].c_str())};
  for (size_t i = 3; i < words.size(); ++i) {
    if (words[i] == "hosts" && options.threads == 1) {
      options.has_hosts = true;
    } else if (words[i] == "--set" && i + 1 < words.size()) {
      options.overrides.push_back(words[++i]);
    } else {
      return {};
    }
  }
  return options;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  const reprise::Options options = reprise::ParseOptions({argv + 1, argv + argc});
  if (options.threads < 1 || options.steps < 1) {
    std::fprintf(stderr, "usage: growth_step CONFIG THREADS STEPS [hosts] [--set KEY=VALUE]...; hosts: one thread\n");
    return 64;
  }
  absl::Status status = reprise::kernels::InitializeIsa();
  if (status.ok()) status = reprise::Run(options);
  if (!status.ok()) std::fprintf(stderr, "growth_step: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 70;
}
