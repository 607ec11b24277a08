// train: one run from a configuration to run.h5.

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "core/comm/agree.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/log/progress.h"
#include "core/status/status_macros.h"
#include "models/olmoe/model_directory.h"
#include "nlohmann/json.hpp"
#include "pipelines/configuration.h"
#include "pipelines/execution_counts.h"
#include "pipelines/program.h"
#include "pipelines/reward_curve.h"
#include "pipelines/run_files.h"
#include "pipelines/seconds.h"
#include "rl/learner/learner.h"
#include "rl/learner/sources.h"
#include "rl/run/artifact_sink.h"
#include "rl/run/prepare.h"

namespace reprise {
namespace {

constexpr int64_t kMostWeightBytes = int64_t{1} << 42;

struct TrainFlags {
  std::string config_path, output;
  int64_t stop_after_step = 0;
};

// What rank 0 shows and keeps of every step.
class Observer {
 public:
  Observer(const rl::Config& config, bool json, RunFiles files, Logger& logger)
      : warm_up_steps_(config.warm_up.steps),
        json_(json),
        files_(std::move(files)),
        progress_({0, config.warm_up.steps + config.run.steps, config.execution.log_every}, &logger, Seconds) {}

  absl::Status Record(const rl::StepRecord& record) {
    const bool warm_up = record.phase == rl::Phase::kWarmUp;
    const std::string detail = warm_up ? absl::StrFormat("warm-up loss %.3f", MetricOf(record, "loss"))
                                       : absl::StrFormat("reward %.3f", MetricOf(record, "reward"));
    progress_.Update(warm_up ? record.step : warm_up_steps_ + record.step, detail);
    if (json_) std::printf("%s\n", MetricsJson(record).c_str());
    if (!warm_up) rewards_.push_back(MetricOf(record, "reward"));
    return files_.Record(record);
  }

  absl::Status Finish(const ExecutionCounts& counts) { return files_.Finish(counts); }

  const std::vector<double>& rewards() const { return rewards_; }

 private:
  const int64_t warm_up_steps_;
  const bool json_;
  RunFiles files_;
  Progress progress_;
  std::vector<double> rewards_;
};

// The artifact first, which is the run; then the export, and their digests.
absl::Status Finish(const TrainFlags& flags, bool json, const rl::RunParts& parts, RunWriter& writer, int64_t steps) {
  ASSIGN_OR_RETURN(const RunDigests digests, writer.Finish());
  const std::string directory = JoinPath(flags.output, "model");
  RETURN_IF_ERROR(models::ExportModel(PosixFileSystem(), directory, parts.model->config(), parts.model->layout(),
                                      parts.model->parameters(),
                                      {parts.tokenizer->json(), parts.tokenizer->config_json()}));
  ASSIGN_OR_RETURN(const std::string weights,
                   ReadFile(PosixFileSystem(), JoinPath(directory, "model.safetensors"), kMostWeightBytes));
  const std::string weights_hex = ToHex(Sha256(weights));
  if (json) {
    nlohmann::ordered_json done;
    done["event"] = "done";
    done["weights_sha256"] = weights_hex;
    done["run_digest"] = digests.run_digest_hex;
    done["run_sha256"] = digests.file_sha256_hex;
    done["steps"] = steps;
    std::printf("%s\n", done.dump().c_str());
  } else {
    std::printf("weights sha256:%s\nrun digest sha256:%s\nrun.h5 sha256:%s\n", weights_hex.c_str(),
                digests.run_digest_hex.c_str(), digests.file_sha256_hex.c_str());
  }
  return absl::OkStatus();
}

// What only rank 0 has.
struct Output {
  std::unique_ptr<RunWriter> writer;
  std::unique_ptr<Observer> observer;
  std::unique_ptr<rl::ArtifactSink> sink;
};

absl::StatusOr<Output> StartOutput(const TrainFlags& flags, bool json, const rl::Config& config,
                                   const rl::RunParts& parts, int ranks, Logger& logger) {
  Output output;
  ASSIGN_OR_RETURN(RunWriter writer, RunWriter::Create(PosixFileSystem(), flags.output, rl::HeaderOf(config, parts)));
  output.writer = std::make_unique<RunWriter>(std::move(writer));
  ASSIGN_OR_RETURN(RunFiles files, RunFiles::Create(PosixFileSystem(), flags.output, Seconds));
  const int threads = rl::ThreadsOf(config.execution, RanksOnThisMachine());
  RETURN_IF_ERROR(files.DescribeExecution(ranks, threads, absl::Now()));
  output.observer = std::make_unique<Observer>(config, json, std::move(files), logger);
  output.sink = std::make_unique<rl::ArtifactSink>(
      config, output.writer.get(),
      [observer = output.observer.get()](const rl::StepRecord& record) { return observer->Record(record); });
  return output;
}

absl::StatusOr<int> Train(const TrainFlags& flags, const CommonFlags& common, Communicator& comm, Logger& logger) {
  const bool root = comm.rank() == 0;
  const int ranks = common.ranks > 0 ? common.ranks : comm.size();
  ASSIGN_OR_RETURN(const rl::ResolvedConfig resolved,
                   AgreeOk(comm, ReadConfiguration(flags.config_path, common.overrides, ranks)));
  const rl::Config& config = resolved.config;
  ThreadPool pool(rl::ThreadsOf(config.execution, RanksOnThisMachine()));
  ASSIGN_OR_RETURN(const rl::RunParts parts, AgreeOk(comm, rl::PrepareRun(config, pool)));
  // What this verb writes beside run.h5 is a run's as well: it is not mixed with another's.
  absl::Status free = absl::OkStatus();
  if (root && PosixFileSystem().Stat(flags.output).ok())
    free = RunWriter::CheckFree(PosixFileSystem(), flags.output, {"model", "metrics.jsonl", "execution.jsonl"});
  RETURN_IF_ERROR(AgreeOk(comm, free));
  if (common.check) return 0;

  absl::StatusOr<Output> started = Output();
  if (root) started = StartOutput(flags, common.json, config, parts, comm.size(), logger);
  ASSIGN_OR_RETURN(const Output output, AgreeOk(comm, std::move(started)));
  rl::LiveSource source(*parts.model, *parts.tokenizer,
                        rl::GenerateOptionsOf(config, parts.model->config().eos_token_id), pool);
  ASSIGN_OR_RETURN(const std::unique_ptr<rl::Learner> learner,
                   rl::Learner::Create({config, *parts.model, *parts.tokenizer, source, output.sink.get(), comm, pool,
                                        parts.problems}));
  RETURN_IF_ERROR(learner->Run(flags.stop_after_step));
  ASSIGN_OR_RETURN(const ExecutionCounts counts,
                   SumOverRanks(comm, pool.threads(), learner->counts(), source.refills()));

  absl::Status finished = absl::OkStatus();
  if (root) {
    finished = output.observer->Finish(counts);
  }
  if (root && finished.ok()) {
    for (const std::string& line : RewardCurve(output.observer->rewards())) logger.Info(line);
    finished =
        Finish(flags, common.json, parts, *output.writer, static_cast<int64_t>(output.observer->rewards().size()));
  }
  RETURN_IF_ERROR(AgreeOk(comm, finished));
  return 0;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::CommandLine command_line("train",
                                    "Trains a model by reinforcement learning and records everything in DIR/run.h5.",
                                    "./reprise train configs/quickstart.toml --output runs/first --set run.steps=20");
  reprise::TrainFlags flags;
  command_line.app().add_option("CONFIG", flags.config_path, "The configuration, a TOML file")->required();
  command_line.app().add_option("--output", flags.output, "The run's directory; it must not hold a run")->required();
  command_line.app()
      .add_option("--stop-after-step", flags.stop_after_step, "Ends the run after this training step")
      ->check(reprise::AtLeast(1));
  command_line.AddOverrides();
  if (const std::optional<int> code = command_line.Parse(argc, argv)) return *code;
  return reprise::RunProgram(command_line, [&](reprise::Communicator& comm, reprise::Logger& logger) {
    return reprise::Train(flags, command_line.flags(), comm, logger);
  });
}
