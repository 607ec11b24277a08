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
#include "rl/completions/data_file.h"
#include "rl/config/check.h"
#include "rl/config/load.h"
#include "rl/config/workload_keys.h"
#include "rl/run/early_end.h"
#include "rl/run/prepare.h"
#include "rl/run/step_number.h"
#include "rl/run/stored_records.h"
#include "rl/run/workloads.h"

namespace reprise {
namespace {

constexpr size_t kMostCommandBytes = 1000;           // printed at most
constexpr absl::string_view kExternal = "external";  // in place of paths, see WithoutPaths

// Returns DataLoss unless the steps are the first ones of the configuration's run. A run that was stopped early, or
// whose warm-up has converged, has fewer than configured.
absl::Status CheckSteps(const rl::Config& config, const std::vector<int64_t>& numbers) {
  const bool may_converge = rl::TrendsOf(config).warm_up.has_value();
  const int64_t first_of_training = rl::ArtifactStep(config, rl::Phase::kTraining, 1);
  int64_t next = 1;
  for (const int64_t number : numbers) {
    const auto [phase, step] = rl::StepOfNumber(config, number);
    const bool is_after_warm_up = may_converge && 1 < next && next < number && number == first_of_training;
    if (number != next && !is_after_warm_up) {
      return absl::DataLossError(absl::StrCat("it contains ", rl::StepName(phase, step), ", under number ", number,
                                              ", where ", std::apply(rl::StepName, rl::StepOfNumber(config, next)),
                                              " belongs, as number ", next));
    }
    next = number + 1;
    if (phase == rl::Phase::kTraining && step > config.run.steps) {
      return absl::DataLossError(absl::StrCat("it contains ", rl::StepName(phase, step),
                                              ", beyond its configuration's ", config.warm_up.steps,
                                              " steps of warm-up and ", config.run.steps, " of training"));
    }
  }
  return absl::OkStatus();
}

// Returns DataLoss unless the warm-up ends where its metrics say so.
absl::Status CheckWarmUpEnd(const rl::Config& config, const std::vector<rl::StepTables>& steps) {
  if (!rl::TrendsOf(config).warm_up) return absl::OkStatus();
  for (size_t i = 0; i + 1 < steps.size() && steps[i].phase == rl::Phase::kWarmUp; ++i) {
    const int64_t after = rl::ArtifactStep(config, steps[i + 1].phase, steps[i + 1].step);
    if (after == rl::NextNumber(config, rl::ResultsOf(steps[i]))) continue;
    return absl::DataLossError(absl::StrCat("its ", rl::StepName(steps[i + 1].phase, steps[i + 1].step), " follows ",
                                            rl::StepName(steps[i].phase, steps[i].step), ", whose metric ",
                                            rl::kWarmUpStepsLeft, " is ",
                                            rl::MetricOf(steps[i], rl::kWarmUpStepsLeft)));
  }
  return absl::OkStatus();
}

// Returns DataLoss where the configuration refers to a file whose digest is not stored: any other file would be
// accepted for it.
absl::Status CheckFilesAreListed(const rl::Config& config, const std::vector<ExternalFile>& files) {
  bool has_model = false, has_problems = false, has_held_out = false;
  for (const ExternalFile& file : files) {
    has_problems |= file.name == rl::kProblemsName;
    has_held_out |= file.name == rl::kHeldOutName;
    has_model |=
        file.name != rl::kProblemsName && file.name != rl::kHeldOutName && file.name != rl::kInitialWeightsName;
  }
  const auto check = [](absl::string_view key, const std::string& path, bool is_listed) {
    return path.empty() || is_listed ? absl::OkStatus()
                                     : absl::DataLossError(absl::StrCat("its configuration refers to a file in ", key,
                                                                        " whose digest is not stored"));
  };
  RETURN_IF_ERROR(check("model.path", config.model.path, has_model));
  RETURN_IF_ERROR(check("data.path", config.data.path, has_problems));
  return check("evaluation.path", config.evaluation.path, has_held_out);
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

absl::StatusOr<rl::Config> StoredConfigOf(const std::string& text) {
  absl::StatusOr<rl::ResolvedConfig> resolved = rl::LoadConfig(text, "the run's configuration", {});
  if (!resolved.ok()) {
    return absl::DataLossError(absl::StrCat("its configuration is invalid: ", resolved.status().message()));
  }
  for (const auto& [name, origin] : resolved->origins) {
    if (!absl::StartsWith(name, "execution.")) continue;
    return absl::DataLossError(absl::StrCat("its configuration contains ", name, ", which is not part of a run"));
  }
  const rl::Config& config = resolved->config;
  const absl::Status sound = rl::CheckConfig(config, /*ranks=*/1);
  if (!sound.ok()) return absl::DataLossError(absl::StrCat("its configuration is invalid: ", sound.message()));
  for (const auto& [name, path] : {std::pair<absl::string_view, const std::string&>("model.path", config.model.path),
                                   {"data.path", config.data.path},
                                   {"evaluation.path", config.evaluation.path}}) {
    if (path.empty() || path == kExternal) continue;
    return absl::DataLossError(absl::StrCat("its configuration contains a path in ", name, ", where a run has \"",
                                            kExternal, "\" and the file is named on the command line"));
  }
  return std::move(resolved->config);
}

absl::Status Interpret(const std::string& path, StoredRun* run) {
  absl::StatusOr<rl::Config> config = StoredConfigOf(run->reader->config_text());
  if (!config.ok()) return WithContext(config.status(), path);
  run->config = *std::move(config);
  RETURN_IF_ERROR(WithContext(CheckFilesAreListed(run->config, run->reader->header().external_files), path));
  RETURN_IF_ERROR(WithContext(CheckSteps(run->config, run->reader->steps()), path));
  absl::StatusOr<std::vector<rl::StepTables>> steps = rl::ReadSteps(*run->reader, run->config);
  if (!steps.ok()) return WithContext(steps.status(), path);
  run->steps = *std::move(steps);
  RETURN_IF_ERROR(WithContext(CheckWarmUpEnd(run->config, run->steps), path));
  for (const rl::StepTables& step : run->steps) {
    if (step.phase == rl::Phase::kTraining) run->last_training_step = std::max(run->last_training_step, step.step);
  }
  return absl::OkStatus();
}

absl::StatusOr<StoredRun> OpenUninterpreted(const std::string& path, const RunReaderOptions& options) {
  FileSystem& files = PosixFileSystem();
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  const bool is_directory = info.ok() && info->is_directory;
  absl::Status status;
  for (int i = 0; i < kTries; ++i) {
    StoredRun run;
    const std::string file = is_directory ? JoinPath(path, "run.h5") : path;
    const bool is_file = !is_directory || files.Stat(file).ok();
    absl::StatusOr<RunReader> reader = is_file ? RunReader::Open(files, file, options) : OpenUnfinished(files, path);
    if (reader.ok()) {
      run.reader = std::make_unique<RunReader>(*std::move(reader));
      if (!is_file) run.unfinished_in = path;
      return run;
    }
    status = reader.status();
    if (is_file) break;
  }
  RETURN_IF_ERROR(RefuseSweepAsRun(files, path));
  return status;
}

absl::StatusOr<StoredRun> OpenStoredRun(const std::string& path, const RunReaderOptions& options) {
  ASSIGN_OR_RETURN(StoredRun run, OpenUninterpreted(path, options));
  RETURN_IF_ERROR(Interpret(path, &run));
  return run;
}

std::vector<std::string> TensorNames(const StoredRun& run) {
  for (const CheckpointInfo& checkpoint : run.reader->checkpoints()) {
    if (checkpoint.group == "weights") return checkpoint.tensors;
  }
  if (!run.config.model.path.empty()) return {};
  const absl::StatusOr<FlatLayout> layout = rl::KindOf(run.config).layout(run.config);
  return layout.ok() ? rl::TensorNamesOf(*layout) : std::vector<std::string>();
}

absl::Status TakePath(absl::string_view flag, const std::string& given, absl::string_view what, std::string* path) {
  if (given.empty()) return absl::OkStatus();
  if (path->empty()) {
    return absl::InvalidArgumentError(absl::StrCat(flag, " ", given, ": the run read no ", what, ": remove ", flag));
  }
  *path = given;
  return absl::OkStatus();
}

absl::Status CheckIsNoFile(const std::string& output) {
  const absl::StatusOr<FileInfo> info = PosixFileSystem().Stat(output);
  if (!info.ok() || info->is_directory) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--output ", output, " is a file; expected a directory"));
}

absl::Status CheckModelDirectory(const rl::Config& config) {
  if (config.model.path != kExternal) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the run started from a model that is not stored in it; give its directory: --model DIR");
}

absl::Status CheckDataFile(const rl::Config& config) {
  if (config.evaluation.path == kExternal) {
    return absl::FailedPreconditionError(
        "the run's held-out problems are in a file that is not stored in it; give its path: --held-out FILE");
  }
  if (config.data.path != kExternal) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the run's problems are in a file that is not stored in it; give its path: --data FILE");
}

absl::Status NeedsProcessCommand(const rl::Config& stored, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("the run's external process must be called, ", why,
                                                 ": give its command by --process-command CMD; the command in the "
                                                 "file is not executed; it is ",
                                                 Quoted(stored.process.command, kMostCommandBytes)));
}

absl::Status CheckSameFiles(const StoredRun& run, const std::vector<rl::ExternalFile>& files) {
  for (const ExternalFile& stored : run.reader->header().external_files) {
    const auto found = std::find_if(files.begin(), files.end(),
                                    [&](const rl::ExternalFile& file) { return file.name == stored.name; });
    // An export needs neither of these.
    const bool is_input =
        stored.name == rl::kProblemsName || stored.name == rl::kHeldOutName || stored.name == rl::kInitialWeightsName;
    if (found == files.end() && is_input) continue;
    if (found == files.end()) {
      return absl::FailedPreconditionError(absl::StrCat("the model's directory lacks ", stored.name, " of the run"));
    }
    if (found->sha256 != stored.sha256) {
      return absl::FailedPreconditionError(absl::StrCat(stored.name, " is not the run's file: sha256 ",
                                                        ToHex(found->sha256), ", expected ", ToHex(stored.sha256)));
    }
  }
  return absl::OkStatus();
}

}  // namespace reprise
