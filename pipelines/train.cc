// train: one run from a configuration to run.h5, in one execution or several.

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "core/comm/agree.h"
#include "core/io/file_system.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "pipelines/program/configuration.h"
#include "pipelines/program/program.h"
#include "pipelines/stored/of_sweep.h"
#include "pipelines/training/train_run.h"

namespace reprise {
namespace {

void PrintResult(const TrainResult& result, bool json) {
  if (!json) {
    std::printf("weights sha256:%s\nrun digest sha256:%s\nrun.h5 sha256:%s\n", result.weights_sha256.c_str(),
                result.run_digest.c_str(), result.run_sha256.c_str());
    return;
  }
  PrintJsonLine({{"event", "done"},
                 {"weights_sha256", result.weights_sha256},
                 {"run_digest", result.run_digest},
                 {"run_sha256", result.run_sha256},
                 {"steps", result.steps}});
}

absl::StatusOr<int> Train(const std::string& config_path, const CommonFlags& common, TrainRequest request,
                          Communicator& comm, Logger& logger) {
  const int ranks = common.ranks > 0 ? common.ranks : comm.size();
  Logger* const warnings = comm.rank() == 0 && !common.check ? &logger : nullptr;
  ASSIGN_OR_RETURN(request.config, AgreeOk(comm, ReadConfiguration(config_path, common.keys, ranks, warnings)));
  RETURN_IF_ERROR(
      AgreeOk(comm, comm.rank() == 0 ? CheckIsInNoSweep(PosixFileSystem(), request.output) : absl::OkStatus()));
  request.check = common.check;
  request.json = common.json;
  ASSIGN_OR_RETURN(const std::optional<TrainResult> result, TrainRun(request, comm, logger));
  if (result) PrintResult(*result, common.json);
  return kExitOk;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::PrepareProcess();
  reprise::CommandLine command_line("train",
                                    "Trains a model by reinforcement learning and records everything in DIR/run.h5.",
                                    "./reprise train configs/quickstart.toml --output runs/first --set run.steps=20");
  std::string config_path;
  reprise::TrainRequest request;
  command_line.Add("CONFIG", config_path, "The configuration, a TOML file", {.is_required = true});
  command_line.Add("--output", request.output, "The run's directory; without --resume it must not contain a run",
                   {.is_required = true});
  command_line.Add("--resume", request.resume,
                   "Resumes the run in DIR after its last committed step, on any number of ranks; a finished run "
                   "gets more steps if run.steps is raised");
  command_line.Add("--init-from", request.init_from,
                   "Starts from the final weights of a run, or those of its checkpoint of a training step: RUN.h5 or "
                   "RUN.h5@STEP, or the directory of an unfinished run. With lora.r also from adapters: a directory "
                   "of the PEFT library. An SFT phase is done on them again: --set sft.steps=0 skips it");
  command_line.Add("--stop-after-step", request.stop_after_step, "Ends the run after this training step",
                   {.check = reprise::AtLeast(1)});
  command_line.AddOverrides();
  if (const std::optional<int> code = command_line.Parse(argc, argv)) return *code;
  while (request.output.size() > 1 && request.output.back() == '/') request.output.pop_back();
  request.interrupt = &reprise::InterruptBySignals();
  return reprise::RunProgram(command_line, [&](reprise::Communicator& comm, reprise::Logger& logger) {
    return reprise::Train(config_path, command_line.flags(), request, comm, logger);
  });
}
