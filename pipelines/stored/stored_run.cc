#include "pipelines/stored/stored_run.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "data/artifact/find_run.h"
#include "pipelines/stored/of_sweep.h"
#include "pipelines/stored/stored_shape.h"
#include "rl/config/check.h"
#include "rl/config/load.h"
#include "rl/config/workload_traits.h"
#include "rl/run/early_end.h"
#include "rl/run/path_keys.h"
#include "rl/run/prepare.h"
#include "rl/run/step_number.h"
#include "rl/run/stored_records.h"
#include "rl/run/workloads.h"

namespace reprise {
namespace {

constexpr size_t kMostCommandBytes = 1000;  // printed at most

// Returns DataLoss unless the steps are the first ones of the configuration's run. A run that was stopped early, or
// whose SFT phase has converged, has fewer than configured.
absl::Status CheckSteps(const rl::Config& config, const std::vector<int64_t>& numbers) {
  const bool may_converge = rl::Traits(config).trends(config).sft.has_value();
  const int64_t first_of_training = rl::ArtifactStep(config, rl::Phase::kTraining, 1);
  int64_t next = 1;
  for (const int64_t number : numbers) {
    const auto [phase, step] = rl::StepOfNumber(config, number);
    const bool is_after_sft = may_converge && 1 < next && next < number && number == first_of_training;
    if (number != next && !is_after_sft) {
      return absl::DataLossError(absl::StrCat("it contains ", rl::StepName(phase, step), ", under number ", number,
                                              ", where ", std::apply(rl::StepName, rl::StepOfNumber(config, next)),
                                              " belongs, as number ", next));
    }
    next = number + 1;
    if (phase == rl::Phase::kTraining && step > config.run.steps) {
      return absl::DataLossError(absl::StrCat("it contains ", rl::StepName(phase, step),
                                              ", beyond its configuration's ", config.sft.steps, " steps of SFT and ",
                                              config.run.steps, " of training"));
    }
  }
  return absl::OkStatus();
}

// Returns DataLoss unless the SFT phase ends where its metrics say so.
absl::Status CheckSftEnd(const rl::Config& config, const std::vector<rl::StepTables>& steps) {
  if (!rl::Traits(config).trends(config).sft) return absl::OkStatus();
  for (size_t i = 0; i + 1 < steps.size() && steps[i].phase == rl::Phase::kSft; ++i) {
    const int64_t after = rl::ArtifactStep(config, steps[i + 1].phase, steps[i + 1].step);
    if (after == rl::NextNumber(config, rl::ReadResults(steps[i]))) continue;
    return absl::DataLossError(absl::StrCat("its ", rl::StepName(steps[i + 1].phase, steps[i + 1].step), " follows ",
                                            rl::StepName(steps[i].phase, steps[i].step), ", whose metric ",
                                            rl::kSftStepsLeft, " is ", rl::GetMetric(steps[i], rl::kSftStepsLeft)));
  }
  return absl::OkStatus();
}

// Returns DataLoss where the configuration refers to a file whose digest is not stored: any other file would be
// accepted for it.
absl::Status CheckFilesAreListed(rl::Config config, const std::vector<ExternalFile>& files) {
  for (const rl::PathKey& key : rl::PathKeys()) {
    if (key.path(config).empty()) continue;
    for (const std::string& name : key.files(config)) {
      const auto is_it = [&](const ExternalFile& file) { return file.name == name; };
      if (std::any_of(files.begin(), files.end(), is_it)) continue;
      return absl::DataLossError(absl::StrCat("its configuration refers to a file in ", key.section, ".", key.key,
                                              " whose digest is not stored"));
    }
  }
  return absl::OkStatus();
}

// Returns the flag that gives the file, if it is no file of the model; otherwise "".
absl::string_view FlagOfInput(const rl::Config& config, absl::string_view name) {
  if (name == rl::kInitialWeightsName) return "--init-from";
  for (const rl::PathKey& key : rl::PathKeys()) {
    if (key.flag == "--model") continue;
    const std::vector<std::string> names = key.files(config);
    if (std::find(names.begin(), names.end(), name) != names.end()) return key.flag;
  }
  return "";
}

// A file that the model's directory has now may change the model, as generation_config.json does with other end tokens.
absl::Status RequireNoOtherModelFiles(const std::vector<ExternalFile>& stored,
                                      absl::Span<const rl::ExternalFile> files) {
  for (const rl::ExternalFile& file : files) {
    const auto is_it = [&](const ExternalFile& other) { return other.name == file.name; };
    if (!absl::StartsWith(file.name, "model/") || std::any_of(stored.begin(), stored.end(), is_it)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the model's directory has ", file.name, ", which the run's did not have: remove it"));
  }
  return absl::OkStatus();
}

// The number of attempts to read a directory whose run may be finished or resumed concurrently.
constexpr int kTries = 3;

absl::StatusOr<RunReader> OpenUnfinished(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const FoundRun found, FindRun(files, directory));
  if (found.stage == RunStage::kNone) {
    return absl::NotFoundError(absl::StrCat(directory, " contains no run: neither run.h5 nor an unfinished run"));
  }
  if (found.stage == RunStage::kClaimed) {
    return absl::NotFoundError(absl::StrCat(
        directory,
        ": its run has committed nothing yet; steps are committed every few seconds (execution.commit_every)"));
  }
  const absl::StatusOr<rl::ResolvedConfig> resolved =
      rl::LoadConfig(found.header.config_text, "the run's configuration", {});
  return OpenCommitted(files, directory, resolved.ok() ? resolved->config.artifact.keep_checkpoints : 0);
}

}  // namespace

absl::Status CheckIsStored(rl::Config config, const config::Origins& origins) {
  for (const auto& [name, origin] : origins) {
    if (!absl::StartsWith(name, "execution.")) continue;
    return absl::DataLossError(absl::StrCat("its configuration contains ", name, ", which is not part of a run"));
  }
  for (const rl::PathKey& key : rl::PathKeys()) {
    const std::string& path = key.path(config);
    if (path.empty() || path == rl::kExternal) continue;
    return absl::DataLossError(absl::StrCat("its configuration contains a path in ", key.section, ".", key.key,
                                            ", where a run has \"", rl::kExternal,
                                            "\" and the file is named on the command line"));
  }
  return absl::OkStatus();
}

absl::StatusOr<rl::Config> ParseStoredConfig(const std::string& text) {
  absl::StatusOr<rl::ResolvedConfig> resolved = rl::LoadConfig(text, "the run's configuration", {});
  if (!resolved.ok()) {
    return absl::DataLossError(
        absl::StrCat("its configuration is invalid: ", resolved.status().message(), "; ", kWhereRevisionIs));
  }
  const absl::Status sound = rl::CheckConfig(resolved->config, /*ranks=*/1);
  RETURN_IF_ERROR(CheckIsStored(resolved->config, resolved->origins));
  if (!sound.ok()) return absl::DataLossError(absl::StrCat("its configuration is invalid: ", sound.message()));
  return std::move(resolved->config);
}

absl::Status Interpret(const std::string& path, StoredRun* run) {
  absl::StatusOr<rl::Config> config = ParseStoredConfig(run->reader->config_text());
  if (!config.ok()) return WithContext(config.status(), path);
  run->config = *std::move(config);
  RETURN_IF_ERROR(WithContext(CheckFilesAreListed(run->config, run->reader->header().external_files), path));
  RETURN_IF_ERROR(WithContext(CheckModelIsStored(*run->reader, run->config), path));
  RETURN_IF_ERROR(WithContext(CheckSteps(run->config, run->reader->steps()), path));
  absl::StatusOr<std::vector<rl::StepTables>> steps = rl::ReadSteps(*run->reader, run->config);
  if (!steps.ok()) return WithContext(steps.status(), path);
  run->steps = *std::move(steps);
  RETURN_IF_ERROR(WithContext(CheckSftEnd(run->config, run->steps), path));
  for (const rl::StepTables& step : run->steps) {
    if (step.phase == rl::Phase::kTraining) run->last_training_step = std::max(run->last_training_step, step.step);
  }
  return absl::OkStatus();
}

absl::StatusOr<StoredRun> OpenUninterpreted(const std::string& path) {
  FileSystem& files = PosixFileSystem();
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  const bool is_directory = info.ok() && info->is_directory;
  absl::Status status;
  for (int i = 0; i < kTries; ++i) {
    StoredRun run;
    const std::string file = is_directory ? JoinPath(path, "run.h5") : path;
    const bool is_file = !is_directory || files.Stat(file).ok();
    absl::StatusOr<RunReader> reader = is_file ? RunReader::Open(files, file) : OpenUnfinished(files, path);
    if (reader.ok()) {
      run.reader = std::make_unique<RunReader>(*std::move(reader));
      if (!is_file) run.unfinished_in = path;
      return run;
    }
    status = reader.status();
    if (is_file) break;
  }
  RETURN_IF_ERROR(RejectSweepAsRun(files, path));
  return status;
}

absl::StatusOr<StoredRun> OpenStoredRun(const std::string& path) {
  ASSIGN_OR_RETURN(StoredRun run, OpenUninterpreted(path));
  RETURN_IF_ERROR(Interpret(path, &run));
  return run;
}

std::vector<std::string> TensorNames(const StoredRun& run) {
  for (const CheckpointInfo& checkpoint : run.reader->checkpoints()) {
    if (checkpoint.group == "weights") return checkpoint.tensors;
  }
  if (!run.config.model.path.empty()) return {};
  const absl::StatusOr<FlatLayout> layout = rl::KindOf(run.config).layout(run.config);
  return layout.ok() ? rl::ListTensorNames(*layout) : std::vector<std::string>();
}

absl::Status TakePath(absl::string_view flag, const std::string& given, rl::Config* config) {
  if (given.empty()) return absl::OkStatus();
  const rl::PathKey& key = rl::PathKeyForFlag(flag, *config);
  if (key.path(*config).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " ", given, ": the run read no ", key.what, ": remove ", flag));
  }
  key.path(*config) = given;
  return absl::OkStatus();
}

absl::Status CheckIsNoFile(const std::string& output) {
  const absl::StatusOr<FileInfo> info = PosixFileSystem().Stat(output);
  if (!info.ok() || info->is_directory) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--output ", output, " is a file; expected a directory"));
}

absl::Status CheckPathsAreGiven(rl::Config config, std::initializer_list<absl::string_view> flags) {
  for (const rl::PathKey& key : rl::PathKeys()) {
    const bool is_asked = std::find(flags.begin(), flags.end(), key.flag) != flags.end();
    if (is_asked && key.path(config) == rl::kExternal) return absl::FailedPreconditionError(key.missing);
  }
  return absl::OkStatus();
}

absl::Status NeedsProcessCommand(const rl::Config& stored, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("the run's external process must be called, ", why,
                                                 ": give its command by --process-command CMD; the command in the "
                                                 "file is not executed; it is ",
                                                 Quoted(stored.process.command, kMostCommandBytes)));
}

absl::Status CheckSameFiles(const rl::Config& config, const std::vector<ExternalFile>& stored,
                            const std::vector<rl::ExternalFile>& files) {
  for (const ExternalFile& wanted : stored) {
    const auto found = std::find_if(files.begin(), files.end(),
                                    [&](const rl::ExternalFile& file) { return file.name == wanted.name; });
    // What exports and evaluates weights may do without inputs.
    const absl::string_view flag = FlagOfInput(config, wanted.name);
    if (found == files.end() && !flag.empty()) continue;
    if (found == files.end()) {
      return absl::FailedPreconditionError(absl::StrCat("the model's directory lacks ", wanted.name, " of the run"));
    }
    if (found->sha256 != wanted.sha256) {
      return absl::FailedPreconditionError(absl::StrCat(flag, flag.empty() ? "" : ": ", wanted.name,
                                                        " is not the run's file: sha256 ", ToHex(found->sha256),
                                                        ", expected ", ToHex(wanted.sha256)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSameFiles(const StoredRun& run, const std::vector<rl::ExternalFile>& files) {
  const std::vector<ExternalFile>& stored = run.reader->header().external_files;
  RETURN_IF_ERROR(CheckSameFiles(run.config, stored, files));
  return RequireNoOtherModelFiles(stored, files);
}

}  // namespace reprise
