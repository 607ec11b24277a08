#include "pipelines/evaluation_target.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/find_run.h"
#include "models/olmoe/weights.h"
#include "pipelines/stored/held_out_of.h"
#include "pipelines/stored/of_sweep.h"
#include "pipelines/stored/stored_run.h"
#include "pipelines/trained_prompts.h"
#include "rl/config/check.h"
#include "rl/config/workload_traits.h"
#include "rl/evaluation/held_out_tasks.h"
#include "rl/record/completions/record_streams.h"
#include "rl/record/recorded.h"
#include "rl/run/path_keys.h"
#include "rl/run/prepare.h"
#include "rl/run/workloads.h"
#include "rl/workloads/completions/data_file.h"
#include "rl/workloads/completions/model_files.h"
#include "rl/workloads/completions/prepared_completions.h"

namespace reprise {
namespace {

constexpr absl::string_view kTensorOfActionHead = "action_head.0.weight";  // of a memory agent's export
constexpr absl::string_view kTensorOfThoughts = "mixing_head.0.weight";    // of a quiet_star run's

// Applies the request; the evaluation depends only on the run's problems, not on its further course.
void TakeRequest(const EvaluationRequest& request, bool is_stored, rl::Config* config) {
  rl::EvaluationConfig& evaluation = config->evaluation;
  evaluation.every = std::max<int64_t>(evaluation.every, 1);
  evaluation.metric_for_best_model = rl::EvaluationConfig().metric_for_best_model;
  if (request.samples >= 0) evaluation.num_generations = request.samples;
  if (!request.model_path.empty()) config->model.path = request.model_path;
  if (!request.data_path.empty()) rl::PathKeyForFlag("--data", *config).path(*config) = request.data_path;
  if (!request.held_out_path.empty()) {
    evaluation.path = request.held_out_path;
    evaluation.held_out_share = 0;
  }
  // The training problems are not needed where the held-out ones have their own file. Those of a run are in its
  // records; those of a model's configuration are compared with the held-out ones if they are available.
  if (evaluation.path.empty() || !request.data_path.empty()) return;
  if (is_stored || !PosixFileSystem().Stat(config->data.path).ok()) config->data.path.clear();
}

// Returns whether both evaluate the same problems in the same way.
bool AsksTheSame(const rl::EvaluationConfig& a, const rl::EvaluationConfig& b) {
  const auto problems = [](const rl::EvaluationConfig& evaluation) {
    return std::make_tuple(evaluation.num_prompts, evaluation.num_generations, evaluation.path.empty(),
                           evaluation.held_out_share, evaluation.split_seed);
  };
  return problems(a) == problems(b);
}

// Returns the replies that the run stored of an evaluation of these weights, if it equals the requested one.
absl::StatusOr<std::optional<std::vector<rl::EvaluationReply>>> StoredEvaluation(const EvaluationRequest& request,
                                                                                 const rl::Config& config,
                                                                                 const StoredRun& run, int64_t step) {
  const bool is_stored = rl::MakeRecordForm(run.config).evaluates_outside &&
                         rl::HasEvaluation(run.config, rl::Phase::kTraining, step) &&
                         AsksTheSame(run.config.evaluation, config.evaluation);
  if (!is_stored || !request.process_command.empty()) return std::nullopt;
  std::vector<rl::EvaluationReply> replies;
  const rl::StepTables* const stored = rl::FindStep(run.steps, rl::Phase::kTraining, step);
  if (stored == nullptr) return replies;
  ASSIGN_OR_RETURN(const rl::StepRecord record, rl::FromTables(*stored, rl::MakeRecordForm(run.config)));
  for (const rl::EvaluationReply& entry : rl::GetEvaluationReplies(record)) {
    if (!entry.on_start) replies.push_back(entry);
  }
  return replies;
}

// The command stored in a run is untrusted: it is executed only if the request gives it again.
absl::Status CheckCommandIsGiven(const EvaluationRequest& request, const rl::Config& config, const StoredRun& run) {
  if (config.process.command.empty() || !request.process_command.empty()) return absl::OkStatus();
  return NeedsProcessCommand(run.config,
                             "because the run has no stored replies to these problems and samples at this "
                             "step");
}

// Returns an error if the training problems were to be evaluated on.
absl::Status CheckSomeAreHeldOut(const EvaluationRequest& request, const EvaluationTarget& target) {
  const rl::EvaluationConfig& evaluation = target.config.evaluation;
  const std::string& path = request.data_path;
  const bool has_problems = !path.empty() && !target.config.data.path.empty();
  if (!has_problems || !evaluation.path.empty() || evaluation.held_out_share > 0) return absl::OkStatus();
  RETURN_IF_ERROR(
      rl::RequirePath(PosixFileSystem().Stat(path).status(), path, rl::HubKind::kDataSet, "a file of problems"));
  const std::string remedy =
      target.is_run || target.task
          ? "give others by --held-out FILE"
          : absl::StrCat("--held-out ", path,
                         " evaluates on all of them, --set evaluation.held_out_share=0.2 on a share");
  return absl::InvalidArgumentError(absl::StrCat("--data ", path, ": these are training problems",
                                                 target.is_run || target.task ? " of the run" : "",
                                                 ", and none of them is held out; ", remedy));
}

// Whether the run, or the one that wrote the model, made no step: it has used no problem.
bool TrainedNothing(const EvaluationTarget& target) {
  return (target.is_run || target.task) && TrainsNothing(target.config);
}

std::string SeparateDraws(const rl::Config& config) {
  const bool has_share = rl::Traits(config).has_texts;
  return absl::StrCat("separate draws: ", has_share ? "with evaluation.held_out_share 0, " : "",
                      "training may have used the same problems");
}

// Returns why what a model's directory says of its trainings does not prove that they have not used the problems; ""
// where it does.
absl::StatusOr<std::string> WhyNotByOrigin(const ModelTask& origin, const EvaluatedTasks& evaluated) {
  ASSIGN_OR_RETURN(const std::string why, WhyNotHeldOut(origin, evaluated));
  if (!why.empty()) return why;
  if (BeganWithOtherWeights(origin.files)) return WhyOtherWeights();
  return WhyNotHeldOutBefore(origin.earlier, evaluated);
}

// Compares the tasks with those that were, or may have been, trained on.
absl::Status JudgeHeldOut(const EvaluationTarget& target, const rl::TrainedPrompts& trained, EvaluatedModel* model) {
  const rl::EvaluationConfig& evaluation = target.config.evaluation;
  if (TrainedNothing(target)) {
    model->held_out = true;
    return absl::OkStatus();
  }
  if (evaluation.path.empty() && evaluation.held_out_share == 0) {
    model->remark = SeparateDraws(target.config);
    if (!target.origin.ok() || !*target.origin) return absl::OkStatus();
    // Its trainings may be unable to draw such problems.
    ASSIGN_OR_RETURN(const std::string why,
                     WhyNotByOrigin(**target.origin, {target.config, model->parts, model->tasks}));
    model->held_out = why.empty();
    if (model->held_out) model->remark.clear();
    return absl::OkStatus();
  }
  const rl::PreparedCompletions& completions = rl::GetPreparedCompletions(model->parts);
  ASSIGN_OR_RETURN(const int64_t known, rl::CountTrainedOn(target.config, *completions.tokenizer, trained, model->tasks,
                                                           target.config.rollout));
  model->held_out = known == 0;
  if (known == 0) return absl::OkStatus();
  const absl::string_view where =
      target.is_run || target.task ? "among those that the run was given to train on" : "in data.path too";
  model->remark = absl::StrCat("the prompts of ", known, " of them are ", where);
  model->parts.warnings.push_back(absl::StrCat("the prompts of ", known, " of these ", model->tasks.size(),
                                               " problems are ", where,
                                               ", so they are not held out: remove them from the file, or give "
                                               "another by --held-out FILE"));
  return absl::OkStatus();
}

// Sets the command of the external process on this machine.
absl::Status TakeProcessCommand(const EvaluationRequest& request, rl::Config* config) {
  if (request.process_command.empty()) return absl::OkStatus();
  if (config->process.command.empty()) {
    return absl::InvalidArgumentError(
        "--process-command: the configuration has no external process "
        "(process.command); remove the option");
  }
  config->process.command = request.process_command;
  return absl::OkStatus();
}

// Returns an error if a path is given for what the run did not read from files.
absl::Status CheckReadFiles(const EvaluationRequest& request, rl::Config config) {
  RETURN_IF_ERROR(TakePath("--model", request.model_path, &config));
  return TakePath("--data", request.data_path, &config);
}

absl::StatusOr<rl::Config> ConfigOfRun(const EvaluationRequest& request, const std::string& path) {
  if (!request.config_path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--config ", request.config_path, ": ", path,
                                                   " is a run, which has its own configuration; --set "
                                                   "evaluation.key=value changes how it is evaluated"));
  }
  ASSIGN_OR_RETURN(StoredRun run, OpenStoredRun(path));
  rl::Config config = std::move(run.config);
  const rl::Config trained = config;
  RETURN_IF_ERROR(OverrideSections(request.keys, {"evaluation", "execution"}, &config));
  RETURN_IF_ERROR(CheckReadFiles(request, config));
  TakeRequest(request, /*is_stored=*/true, &config);
  RETURN_IF_ERROR(CheckSplit(trained, config.evaluation));
  RETURN_IF_ERROR(CheckPathsAreGiven(config));
  return config;
}

// The other policies are no models of text, and have their shape from the configuration of their run.
absl::Status CheckStartsFromDirectory(const EvaluationRequest& request, const rl::Config& config) {
  if (models::HasTensor(request.target, kTensorOfThoughts).value_or(false)) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.target,
                     ": this is the policy of a quiet_star run, with heads beside its language model, which evaluate "
                     "reads from runs alone: give the run as TARGET, its run.h5 or the directory with it"));
  }
  if (rl::Traits(config).has_language_model) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(request.target, ": with run.workload ", config.run.workload,
                                                 ", evaluate reads runs and no model directory: give the run as "
                                                 "TARGET, its run.h5 or the directory with it"));
}

// The configuration of the model's own task, changed by the request.
absl::StatusOr<rl::Config> ConfigOfTask(const EvaluationRequest& request, const ModelTask& task) {
  RETURN_IF_ERROR(CheckStartsFromDirectory(request, task.config));
  rl::Config config = task.config;
  RETURN_IF_ERROR(OverrideSections(request.keys, {"evaluation", "execution"}, &config));
  RETURN_IF_ERROR(TakePath("--data", request.data_path, &config));
  TakeRequest(request, /*is_stored=*/true, &config);
  config.model.path = request.target;
  RETURN_IF_ERROR(CheckSplit(task.config, config.evaluation));
  RETURN_IF_ERROR(CheckPathsAreGiven(config));
  return config;
}

absl::Status CheckIsForModel(const EvaluationRequest& request) {
  if (!request.step.text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--step ", request.step.text, ": ", request.target, " is a model directory, which has no steps"));
  }
  if (!request.model_path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--model ", request.model_path, ": the model is ", request.target,
                                                   ", which is given as TARGET; remove --model"));
  }
  return absl::OkStatus();
}

absl::StatusOr<rl::Config> ConfigOfModel(const EvaluationRequest& request) {
  ASSIGN_OR_RETURN(rl::ResolvedConfig resolved, LoadConfiguration(request.config_path, request.keys, nullptr));
  RETURN_IF_ERROR(CheckStartsFromDirectory(request, resolved.config));
  const auto origin = resolved.origins.find("model.path");
  if (origin != resolved.origins.end() && origin->second == config::kFromOverride) {
    return absl::InvalidArgumentError(absl::StrCat("--set model.path: the model is ", request.target,
                                                   ", which is given as TARGET; remove --set model.path"));
  }
  if (rl::Traits(resolved.config).has_completions &&
      models::HasTensor(request.target, kTensorOfActionHead).value_or(false)) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.target,
                     ": this is the policy of a memory agent, an encoder with an action head, and no language model; "
                     "give its run as TARGET, or the configuration of its run by --config"));
  }
  TakeRequest(request, /*is_stored=*/false, &resolved.config);
  resolved.config.model.path = request.target;
  return std::move(resolved.config);
}

// Returns whether a directory without run.h5 holds a run that has not finished; false: a model. NotFound if neither.
absl::StatusOr<bool> IsUnfinishedRun(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const bool is_model, Exists(files, JoinPath(directory, "config.json")));
  if (is_model) return false;
  ASSIGN_OR_RETURN(const FoundRun found, FindRun(files, directory));
  if (found.stage != RunStage::kNone) return true;
  RETURN_IF_ERROR(RejectSweepAsRun(files, directory));
  return absl::NotFoundError(absl::StrCat(
      directory, " contains neither a run (run.h5 or an unfinished one) nor a model (config.json, model.safetensors)"));
}

// Opens the run and prepares its policy with the requested weights. The weights are read first: a model of the size
// that a configuration says is made only if the file has one of that size.
absl::Status TakeWeights(const EvaluationRequest& request, const EvaluationTarget& target, int ranks_on_this_machine,
                         StoredRun* run, EvaluatedModel* model) {
  ASSIGN_OR_RETURN(*run, OpenStoredRun(target.run_path));
  ASSIGN_OR_RETURN(const FlatLayout layout, rl::KindOf(target.config).layout(target.config));
  const absl::StatusOr<ChosenWeights> chosen = ReadChosenWeights(request.step, layout, run);
  if (!chosen.ok()) return WithContext(chosen.status(), target.run_path);
  ASSIGN_OR_RETURN(model->parts, rl::PrepareRun(target.config, ranks_on_this_machine, rl::RunUse::kEvaluation));
  RETURN_IF_ERROR(CheckSameFiles(*run, model->parts.external_files));
  rl::Policy& policy = model->parts.workload->policy();
  CHECK_EQ(policy.layout().total, layout.total);
  std::copy(chosen->weights.begin(), chosen->weights.end(), policy.mutable_parameters().begin());
  policy.Refresh(*model->parts.pool);
  model->step = chosen->step;
  return absl::OkStatus();
}

// Checks a model against its own task, if it is evaluated on that.
absl::Status TakeTask(const EvaluationRequest& request, const EvaluationTarget& target, EvaluatedModel* model) {
  if (!target.task) return absl::OkStatus();
  RETURN_IF_ERROR(CheckSameFiles(target.task->config, target.task->files, model->parts.external_files));
  if (!target.config.process.command.empty() && request.process_command.empty()) {
    return NeedsProcessCommand(target.task->config, "because a model directory stores none of its replies");
  }
  return absl::OkStatus();
}

// Withdraws that the problems are held out, for a reason; without one, leaves it as it is.
void Withdraw(const std::string& why, EvaluatedModel* model) {
  if (why.empty()) return;
  model->held_out = false;
  model->remark = why;
  model->parts.warnings.push_back(absl::StrCat("these problems are not called held out: ", why));
}

// The same for weights that began with those of another run, which the remark alone tells.
void WithdrawForOtherWeights(EvaluatedModel* model) {
  model->held_out = false;
  model->remark = WhyOtherWeights();
}

// Withdraws that the problems are held out unless what the directory says of its training proves it: a configuration
// may name other problems than the run that wrote the model, or split them in another way, and earlier runs may have
// been trained on them.
absl::Status JudgeOrigin(const EvaluationTarget& target, EvaluatedModel* model) {
  if (!model->held_out || (target.origin.ok() && !*target.origin)) return absl::OkStatus();
  if (!target.origin.ok()) {
    Withdraw(absl::StrCat("what it was trained on is unknown, as its ", rl::kModelTaskFile, " cannot be read"), model);
    return absl::OkStatus();
  }
  const ModelTask& origin = **target.origin;
  ASSIGN_OR_RETURN(const std::string why, WhyNotByOrigin(origin, {target.config, model->parts, model->tasks}));
  if (why == WhyOtherWeights()) {
    WithdrawForOtherWeights(model);
  } else {
    Withdraw(why, model);
  }
  return absl::OkStatus();
}

// Withdraws it for a run, whose records prove what it was trained on itself, unless the weights with which it began are
// its own, or those of a model whose directory proves it of the runs that trained that.
absl::Status JudgeFirstWeights(const EvaluationTarget& target, const StoredRun& run, EvaluatedModel* model) {
  if (!model->held_out) return absl::OkStatus();
  if (BeganWithOtherWeights(run.reader->header().external_files)) {
    WithdrawForOtherWeights(model);
    return absl::OkStatus();
  }
  const std::string& path = target.config.model.path;
  ASSIGN_OR_RETURN(const std::vector<StoredTraining> trainings,
                   ReadTrainings(PosixFileSystem(), path, model->parts.external_files));
  ASSIGN_OR_RETURN(const std::vector<ModelTask> earlier, InterpretTrainings(path, trainings));
  ASSIGN_OR_RETURN(const std::string why, WhyNotHeldOutBefore(earlier, {target.config, model->parts, model->tasks}));
  Withdraw(why, model);
  return absl::OkStatus();
}

absl::Status SelectTasks(const EvaluationTarget& target, EvaluatedModel* model) {
  const rl::PreparedCompletions& completions = rl::GetPreparedCompletions(model->parts);
  ASSIGN_OR_RETURN(model->tasks, rl::HeldOutTasks(target.config, completions.held_out, *completions.tokenizer,
                                                  completions.model->config().max_position_embeddings));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EvaluationTarget> ResolveTarget(const EvaluationRequest& request, int64_t ranks) {
  EvaluationTarget target;
  FileSystem& files = PosixFileSystem();
  const absl::StatusOr<FileInfo> found = files.Stat(request.target);
  RETURN_IF_ERROR(
      rl::RequirePath(found.status(), request.target, rl::HubKind::kModel, "a run or of a model's directory"));
  const FileInfo info = *found;
  target.run_path = request.target;
  target.is_run = true;
  if (info.is_directory) {
    ASSIGN_OR_RETURN(const bool is_finished, Exists(files, JoinPath(request.target, "run.h5")));
    if (is_finished) target.run_path = JoinPath(request.target, "run.h5");
    if (!is_finished) {
      ASSIGN_OR_RETURN(target.is_run, IsUnfinishedRun(files, request.target));
    }
  }
  if (target.is_run) {
    ASSIGN_OR_RETURN(target.config, ConfigOfRun(request, target.run_path));
  } else {
    RETURN_IF_ERROR(CheckIsForModel(request));
    target.origin = ReadModelTask(files, request.target);
    if (request.config_path.empty()) {
      ASSIGN_OR_RETURN(target.task, target.origin);
      if (!target.task) {
        return absl::InvalidArgumentError(
            absl::StrCat(request.target,
                         ": nothing says on which problems to evaluate this model, as it has no "
                         "reprise.json of a run: give the configuration that names them by --config FILE"));
      }
      ASSIGN_OR_RETURN(target.config, ConfigOfTask(request, *target.task));
    } else {
      ASSIGN_OR_RETURN(target.config, ConfigOfModel(request));
    }
  }
  RETURN_IF_ERROR(CheckSomeAreHeldOut(request, target));
  RETURN_IF_ERROR(TakeProcessCommand(request, &target.config));
  RETURN_IF_ERROR(rl::CheckConfig(target.config, ranks));
  return target;
}

absl::StatusOr<EvaluatedModel> LoadEvaluated(const EvaluationRequest& request, const EvaluationTarget& target,
                                             int ranks_on_this_machine) {
  EvaluatedModel model;
  if (!target.is_run) {
    ASSIGN_OR_RETURN(model.parts, rl::PrepareRun(target.config, ranks_on_this_machine, rl::RunUse::kEvaluation));
    RETURN_IF_ERROR(SelectTasks(target, &model));
    ASSIGN_OR_RETURN(std::set<std::string> known, PromptsKnownOfModel(target, model.parts));
    const rl::Config& trained = target.task ? target.task->config : target.config;
    RETURN_IF_ERROR(JudgeHeldOut(target, {std::move(known), trained.rollout}, &model));
    RETURN_IF_ERROR(TakeTask(request, target, &model));
    RETURN_IF_ERROR(JudgeOrigin(target, &model));
    RETURN_IF_ERROR(model.parts.workload->ProbeProcess(target.config));
    return model;
  }
  StoredRun run;
  RETURN_IF_ERROR(TakeWeights(request, target, ranks_on_this_machine, &run, &model));
  RETURN_IF_ERROR(SelectTasks(target, &model));
  ASSIGN_OR_RETURN(std::set<std::string> prompts, PromptsToTrainOn(run, target, model));
  RETURN_IF_ERROR(JudgeHeldOut(target, {std::move(prompts), run.config.rollout}, &model));
  RETURN_IF_ERROR(JudgeFirstWeights(target, run, &model));
  ASSIGN_OR_RETURN(model.stored, StoredEvaluation(request, target.config, run, model.step));
  if (model.stored) {
    model.parts.workload->process()->Fail(absl::FailedPreconditionError("stored replies replace the external process"));
  } else {
    RETURN_IF_ERROR(CheckCommandIsGiven(request, target.config, run));
    RETURN_IF_ERROR(model.parts.workload->ProbeProcess(target.config));
  }
  return model;
}

absl::StatusOr<EvaluatedModel> LoadPolicy(const EvaluationRequest& request, const EvaluationTarget& target,
                                          int ranks_on_this_machine) {
  if (!request.held_out_path.empty() && !rl::Traits(target.config).has_completions) {
    return absl::InvalidArgumentError(absl::StrCat("--held-out ", request.held_out_path, ": run.workload ",
                                                   target.config.run.workload, " reads no file: remove --held-out"));
  }
  EvaluatedModel model;
  model.held_out = rl::Traits(target.config).holds_out(target.config) || TrainedNothing(target);
  if (!model.held_out) model.remark = SeparateDraws(target.config);
  if (!target.is_run) {
    ASSIGN_OR_RETURN(model.parts, rl::PrepareRun(target.config, ranks_on_this_machine, rl::RunUse::kEvaluation));
    RETURN_IF_ERROR(TakeTask(request, target, &model));
    RETURN_IF_ERROR(JudgeOrigin(target, &model));
    return model;
  }
  StoredRun run;
  RETURN_IF_ERROR(TakeWeights(request, target, ranks_on_this_machine, &run, &model));
  RETURN_IF_ERROR(JudgeFirstWeights(target, run, &model));
  RETURN_IF_ERROR(model.parts.workload->ProbeProcess(target.config));
  return model;
}

}  // namespace reprise
