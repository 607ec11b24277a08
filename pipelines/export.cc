// export: writes a run's weights as a Hugging Face model directory.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/olmoe/model_directory.h"
#include "nlohmann/json.hpp"
#include "pipelines/program/program.h"
#include "pipelines/stored/known_config.h"
#include "pipelines/stored/model_task.h"
#include "pipelines/stored/of_sweep.h"
#include "pipelines/stored/stored_run.h"
#include "pipelines/stored/stored_weights.h"
#include "rl/run/workloads.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise {
namespace {

struct ExportFlags {
  std::string run_path, output, model_path;
  StepChoice step;
};

// Returns the step of the weights that it writes.
absl::StatusOr<int64_t> WriteWeights(const ExportFlags& flags, StoredRun run) {
  rl::Config config = run.config;
  RETURN_IF_ERROR(TakePath("--model", flags.model_path, &config));
  RETURN_IF_ERROR(CheckPathsAreGiven(config, {"--model"}));
  ASSIGN_OR_RETURN(const std::vector<rl::ExternalFile> files, rl::DigestModelFiles(config.model));
  RETURN_IF_ERROR(CheckSameFiles(run, files));
  FileSystem& disk = PosixFileSystem();
  ASSIGN_OR_RETURN(const std::vector<StoredTraining> earlier, ReadTrainings(disk, config.model.path, files));
  const rl::WorkloadKind& kind = rl::KindOf(config);
  ASSIGN_OR_RETURN(const FlatLayout layout, kind.layout(config));
  const absl::StatusOr<ChosenWeights> chosen = ReadChosenWeights(flags.step, layout, &run);
  if (!chosen.ok()) return WithContext(chosen.status(), flags.run_path);
  RETURN_IF_ERROR(CreateDirectories(disk, flags.output));
  RETURN_IF_ERROR(models::RequireNoModel(disk, flags.output));
  RETURN_IF_ERROR(WriteModelTask(disk, flags.output, run.reader->header(), earlier));
  const absl::Status exported = kind.export_weights(config, chosen->weights, disk, flags.output);
  if (!exported.ok()) RemoveModelTask(disk, flags.output);
  RETURN_IF_ERROR(exported);
  return chosen->step;
}

// InvalidArgument for the directory of a run or a sweep, or one within a sweep's: a model's files do not belong there.
absl::Status CheckIsNotRunDirectory(FileSystem& files, const std::string& output) {
  const bool is_sweep = IsSweepFolder(files, output);
  const bool is_run = files.Stat(JoinPath(output, "run.h5")).ok() || files.Stat(JoinPath(output, "epochs")).ok();
  if (!is_sweep && !is_run) return CheckIsInNoSweep(files, output);
  return absl::InvalidArgumentError(absl::StrCat("--output ", output, " is the directory of a ",
                                                 is_sweep ? "sweep" : "run",
                                                 ", which the model does not belong to: choose another"));
}

absl::StatusOr<int> Export(const ExportFlags& flags, const CommonFlags& common, Logger& logger) {
  RETURN_IF_ERROR(CheckIsNoFile(flags.output));
  RETURN_IF_ERROR(CheckIsNotRunDirectory(PosixFileSystem(), flags.output));
  ASSIGN_OR_RETURN(StoredRun run, OpenUninterpreted(flags.run_path));
  ASSIGN_OR_RETURN(const std::vector<std::string> unknown, InterpretWeights(flags.run_path, &run));
  if (!unknown.empty()) {
    logger.Warning(absl::StrCat("of the run's configuration, this program does not know ", absl::StrJoin(unknown, ", "),
                                "; the weights are what they are; ", kWhereRevisionIs));
  }
  ASSIGN_OR_RETURN(const int64_t step, WriteWeights(flags, std::move(run)));
  ASSIGN_OR_RETURN(const Digest digest, models::DigestOfWeights(PosixFileSystem(), flags.output));
  const std::string weights_hex = ToHex(digest);
  if (common.json) {
    const nlohmann::ordered_json done = {
        {"event", "done"}, {"step", step}, {"output", flags.output}, {"weights_sha256", weights_hex}};
    PrintJsonLine(done);
  } else {
    logger.Info(absl::StrCat("wrote the weights of step ", step, " to ", flags.output));
    std::printf("weights sha256:%s\n", weights_hex.c_str());
  }
  return kExitOk;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::PrepareProcess();
  reprise::CommandLine command_line(
      "export",
      "Writes a run's weights as a model directory: of a language model that of Hugging Face (config.json, "
      "model.safetensors, tokenizer.json), of a network without tokens its weights and its shape (config.json).",
      "./reprise export runs/first/run.h5 --output models/first");
  reprise::ExportFlags flags;
  command_line.Add("RUN", flags.run_path, "A run.h5, or a run's directory, also of an unfinished run",
                   {.is_required = true});
  command_line.Add("--output", flags.output, "The model's directory; it must not contain a model",
                   {.is_required = true});
  command_line.Add("--step", flags.step.text,
                   "The training step of the checkpoint, or `best`: that of the best evaluation; default: the last one",
                   {.check = reprise::StepOrBest()});
  command_line.Add("--model", flags.model_path, "The model directory of a run that started from one");
  if (const std::optional<int> code = command_line.Parse(argc, argv)) return *code;
  return reprise::RunOnOneRank(
      command_line, [&](reprise::Logger& logger) { return reprise::Export(flags, command_line.flags(), logger); });
}
