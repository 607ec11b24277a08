#include "pipelines/evaluation_target.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "pipelines/configuration.h"
#include "pipelines/stored_run.h"
#include "rl/config/check.h"
#include "rl/config/load.h"

namespace reprise {
namespace {

constexpr RunReaderOptions kAnyContract = {.any_numeric_contract = true};  // weights are weights

// How the run went on does not matter here, only what its problems are.
void TakeRequest(const EvaluationRequest& request, rl::Config* config) {
  rl::EvaluationConfig& evaluation = config->evaluation;
  evaluation.every = std::max<int64_t>(evaluation.every, 1);
  evaluation.metric_for_best_model = rl::EvaluationConfig().metric_for_best_model;
  if (request.samples >= 0) evaluation.num_generations = request.samples;
  if (!request.model_path.empty()) config->model.path = request.model_path;
  if (!request.data_path.empty()) config->data.path = request.data_path;
  if (!request.held_out_path.empty()) {
    evaluation.path = request.held_out_path;
    evaluation.held_out_share = 0;
  }
  // Problems to train on are not needed where the others have a file of their own.
  if (!evaluation.path.empty() && request.data_path.empty()) config->data.path.clear();
}

absl::StatusOr<rl::Config> ConfigOfRun(const EvaluationRequest& request, const std::string& path) {
  if (!request.config_path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--config ", request.config_path, ": ", path,
                                                   " is a run, which has a configuration of its own; --set "
                                                   "evaluation.key=value changes how it is evaluated"));
  }
  ASSIGN_OR_RETURN(StoredRun run, OpenStoredRun(path, kAnyContract));
  rl::Config config = std::move(run.config);
  RETURN_IF_ERROR(OverrideSections(request.overrides, {"evaluation", "execution"}, &config));
  TakeRequest(request, &config);
  RETURN_IF_ERROR(CheckExternalFiles(run, config));
  RETURN_IF_ERROR(CheckDataFile(config));
  return config;
}

absl::StatusOr<rl::Config> ConfigOfModel(const EvaluationRequest& request) {
  if (!request.step.text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--step ", request.step.text, ": ", request.target, " is a model directory, which has no steps"));
  }
  std::string text;
  if (!request.config_path.empty()) {
    ASSIGN_OR_RETURN(text, ReadFile(PosixFileSystem(), request.config_path, kMostConfigurationBytes));
  }
  const std::string name = request.config_path.substr(request.config_path.rfind('/') + 1);
  ASSIGN_OR_RETURN(rl::ResolvedConfig resolved, rl::LoadConfig(text, name, request.overrides));
  TakeRequest(request, &resolved.config);
  resolved.config.model.path = request.target;
  return std::move(resolved.config);
}

}  // namespace

absl::StatusOr<EvaluationTarget> ResolveTarget(const EvaluationRequest& request, int64_t ranks) {
  EvaluationTarget target;
  FileSystem& files = PosixFileSystem();
  ASSIGN_OR_RETURN(const FileInfo info, files.Stat(request.target));
  if (info.is_directory) {
    ASSIGN_OR_RETURN(target.is_run, Exists(files, JoinPath(request.target, "run.h5")));
  } else {
    target.is_run = true;
  }
  if (target.is_run) {
    target.run_path = info.is_directory ? JoinPath(request.target, "run.h5") : request.target;
    ASSIGN_OR_RETURN(target.config, ConfigOfRun(request, target.run_path));
  } else {
    ASSIGN_OR_RETURN(target.config, ConfigOfModel(request));
  }
  RETURN_IF_ERROR(rl::CheckConfig(target.config, ranks));
  return target;
}

absl::StatusOr<EvaluatedModel> LoadEvaluated(const EvaluationRequest& request, const EvaluationTarget& target,
                                             ThreadPool& pool) {
  EvaluatedModel model;
  ASSIGN_OR_RETURN(model.parts, rl::PrepareRun(target.config, pool));
  if (!target.is_run) return model;
  ASSIGN_OR_RETURN(const StoredRun run, OpenStoredRun(target.run_path, kAnyContract));
  RETURN_IF_ERROR(CheckSameFiles(run, model.parts.external_files));
  const absl::StatusOr<ChosenWeights> chosen = ReadChosenWeights(run, request.step, model.parts.model->layout());
  if (!chosen.ok()) return WithContext(chosen.status(), target.run_path);
  model.step = chosen->step;
  std::copy(chosen->weights.begin(), chosen->weights.end(), model.parts.model->mutable_parameters().begin());
  model.parts.model->Refresh(pool);
  return model;
}

}  // namespace reprise
