#include "pipelines/stored_run.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/decoder/parameters.h"
#include "rl/config/check.h"
#include "rl/config/load.h"
#include "rl/learner/record_streams.h"

namespace reprise {
namespace {

constexpr absl::string_view kExternal = "external";  // in place of paths, see WithoutPaths

// A run has one file of problems, under whatever name.
bool IsData(absl::string_view name) { return absl::StartsWith(name, "data/"); }

}  // namespace

absl::Status Interpret(const std::string& path, StoredRun* run) {
  absl::StatusOr<rl::ResolvedConfig> resolved =
      rl::LoadConfig(run->reader->config_text(), "the run's configuration", {});
  if (!resolved.ok()) {
    return absl::DataLossError(absl::StrCat(path, ": its configuration is not one: ", resolved.status().message()));
  }
  run->config = std::move(resolved->config);
  std::vector<StreamTable> tables;
  for (const StreamSchema& schema : rl::RecordSchemas()) {
    absl::StatusOr<StreamTable> table = run->reader->ReadStream(schema.name);
    if (!table.ok()) return absl::DataLossError(absl::StrCat(path, ": ", table.status().message()));
    if (!(table->schema() == schema)) {
      return absl::DataLossError(absl::StrCat(path, ": its stream ", schema.name,
                                              " does not have the columns of version ", schema.version,
                                              ": use the version of Reprise that wrote it"));
    }
    tables.push_back(*std::move(table));
  }
  absl::StatusOr<std::vector<rl::StepRecord>> records = rl::FromTables(tables);
  if (!records.ok()) return WithContext(records.status(), path);
  run->records = *std::move(records);
  for (const rl::StepRecord& record : run->records) {
    if (record.phase == rl::Phase::kTraining) run->last_training_step = std::max(run->last_training_step, record.step);
  }
  return absl::OkStatus();
}

absl::StatusOr<StoredRun> OpenStoredRun(const std::string& path, const RunReaderOptions& options) {
  ASSIGN_OR_RETURN(RunReader reader, RunReader::Open(PosixFileSystem(), path, options));
  StoredRun run;
  run.reader = std::make_unique<RunReader>(std::move(reader));
  RETURN_IF_ERROR(Interpret(path, &run));
  return run;
}

std::vector<std::string> TensorNames(const StoredRun& run) {
  for (const CheckpointInfo& checkpoint : run.reader->checkpoints()) {
    if (checkpoint.group == "weights") return checkpoint.tensors;
  }
  std::vector<std::string> names;
  const models::DecoderConfig decoder = rl::FromScratchDecoder(run.config.model);
  if (!run.config.model.path.empty() || !models::ValidateDecoderConfig(decoder).ok()) return names;
  for (const models::ParameterSpec& spec : models::MakeParameterLayout(decoder).specs) names.push_back(spec.name);
  return names;
}

absl::Status CheckExternalFiles(const StoredRun& run, const rl::Config& config) {
  if (run.reader->header().external_files.empty() || config.model.path != kExternal) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the run started from a model that is not stored in it; name its directory: --model DIR");
}

absl::Status CheckDataFile(const rl::Config& config) {
  if (config.data.path != kExternal) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the run's problems are in a file that is not stored in it; name it: --data FILE");
}

absl::Status CheckSameFiles(const StoredRun& run, const std::vector<rl::ExternalFile>& files) {
  for (const ExternalFile& stored : run.reader->header().external_files) {
    const bool data = IsData(stored.name);
    const auto found = std::find_if(files.begin(), files.end(), [&](const rl::ExternalFile& file) {
      return data ? IsData(file.name) : file.name == stored.name;
    });
    if (found == files.end() && data) continue;  // it is not needed
    if (found == files.end()) {
      return absl::FailedPreconditionError(absl::StrCat("the model's directory lacks ", stored.name, " of the run"));
    }
    if (found->sha256 != stored.sha256) {
      return absl::FailedPreconditionError(absl::StrCat(stored.name, " is another file than the run's: sha256 ",
                                                        ToHex(found->sha256), ", expected ", ToHex(stored.sha256)));
    }
  }
  return absl::OkStatus();
}

}  // namespace reprise
