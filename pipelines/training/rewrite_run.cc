#include "pipelines/training/rewrite_run.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "core/tensor/flat_layout.h"
#include "data/artifact/run_state.h"
#include "pipelines/stored/stored_run.h"
#include "rl/learner/choices.h"
#include "rl/record/recorded.h"
#include "rl/run/artifact_sink.h"
#include "rl/run/early_end.h"
#include "rl/run/step_number.h"
#include "rl/run/stored_tensors.h"

namespace reprise {
namespace {

std::vector<TensorView> ViewsOf(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

// Returns whether the run has that checkpoint.
absl::StatusOr<bool> CopyCheckpoint(const RunReader& reader, int64_t number, RunWriter& writer) {
  bool has_checkpoint = false;
  for (const CheckpointInfo& info : reader.checkpoints()) {
    if (info.step != number || info.group == rl::kBestWeightsGroup) continue;  // it belongs to the end
    ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, reader.ReadCheckpoint(number, info.group));
    RETURN_IF_ERROR(writer.AddCheckpoint(number, info.group, ViewsOf(tensors)));
    has_checkpoint = true;
  }
  return has_checkpoint;
}

absl::Status CopySteps(const StoredRun& run, const rl::Config& config, RunWriter& writer) {
  for (const rl::StepTables& step : run.steps) {
    const int64_t number = rl::ArtifactStep(config, step.phase, step.step);
    const bool has_digests =
        rl::HasDigests(config, step.phase, step.step) || rl::EndsSftEarly(config, rl::ReadResults(step));
    RETURN_IF_ERROR(writer.CommitStep(number, has_digests ? step.tables : rl::WithoutDigests(step).tables));
    if (!rl::HasCheckpoint(config, step.phase, step.step)) continue;
    ASSIGN_OR_RETURN(const bool has_checkpoint, CopyCheckpoint(*run.reader, number, writer));
    if (!has_checkpoint && config.artifact.keep_checkpoints == 0) {
      return absl::DataLossError(absl::StrCat("run.h5 contains no checkpoint of ", rl::StepName(step.phase, step.step),
                                              ", but its configuration stores one: the run cannot be continued"));
    }
  }
  return writer.Flush();
}

// Saves the run's last checkpoint as a state of the longer run, so that nothing needs to be re-executed. Saves none
// where a checkpoint does not contain everything that the state needs.
absl::Status SaveLastState(FileSystem& files, const std::string& directory, const ResumePlan& plan,
                           const rl::RunParts& parts, const StoredRun& run) {
  if (run.steps.empty()) return absl::OkStatus();
  const rl::StepTables& last = run.steps.back();
  const rl::Policy& policy = parts.workload->policy();
  const FlatLayout& layout = policy.layout();
  ASSIGN_OR_RETURN(const rl::Choices choices, rl::ResolveChoices(plan.config));
  const bool needs_reference = rl::NeedsReference(choices.algorithm);
  if (!rl::CheckpointsAreStates(plan.config, choices)) return absl::OkStatus();
  const absl::StatusOr<rl::LearnerState> state = rl::StateOfCheckpoint(*run.reader, plan.config, last, layout);
  if (absl::IsNotFound(state.status())) return absl::OkStatus();  // it ended early, between two checkpoints
  RETURN_IF_ERROR(state.status());
  rl::PolicyState shown;
  shown.phase = state->phase;
  shown.step = state->step;
  shown.updates = state->updates;
  shown.num_tokens = state->num_tokens;
  shown.weights = ViewsOf(layout, state->weights);
  shown.optimizer = ViewsOf(layout, state->optimizer);
  const FlatLayout reference = policy.FrozenLayout();
  if (needs_reference) {
    shown.reference = ViewsOf(reference, policy.parameters().first(static_cast<size_t>(reference.total)));
  }
  return rl::SaveLearnerState(files, directory, plan.header, plan.config, shown);
}

// Returns ".until-N", or ".until-N.2", ... where that exists: a killed process may have left incomplete files.
absl::StatusOr<std::string> FreeSuffix(FileSystem& files, const std::string& directory, int64_t step) {
  for (int64_t count = 1;; ++count) {
    std::string suffix = absl::StrCat(".until-", step, count == 1 ? "" : absl::StrCat(".", count));
    ASSIGN_OR_RETURN(const bool is_run, Exists(files, JoinPath(directory, absl::StrCat("run", suffix, ".h5"))));
    ASSIGN_OR_RETURN(const bool is_model, Exists(files, JoinPath(directory, absl::StrCat("model", suffix))));
    if (!is_run && !is_model) return suffix;
  }
}

}  // namespace

absl::StatusOr<RunWriter> RewriteRun(FileSystem& files, const std::string& directory, const ResumePlan& plan,
                                     const rl::RunParts& parts) {
  const absl::StatusOr<StoredRun> opened = OpenStoredRun(JoinPath(directory, "run.h5"));
  if (absl::IsNotFound(opened.status())) {  // it existed when the plan was made
    return absl::FailedPreconditionError(absl::StrCat(directory, ": another process is resuming this run; let it run"));
  }
  RETURN_IF_ERROR(opened.status());
  const StoredRun& run = *opened;
  ASSIGN_OR_RETURN(RunWriter writer,
                   RunWriter::Rewrite(files, directory, plan.header, rl::MakeRunWriterOptions(plan.config)));
  RETURN_IF_ERROR(CopySteps(run, plan.config, writer));
  if (!(run.reader->header() == plan.header)) {  // states belong to the finished run
    RETURN_IF_ERROR(RetireStates(files, directory, 0, [&writer] { return writer.Flush(); }));
  }
  RETURN_IF_ERROR(SaveLastState(files, directory, plan, parts, run));
  ASSIGN_OR_RETURN(const std::string end, FreeSuffix(files, directory, run.last_training_step));
  const std::string model = JoinPath(directory, "model");
  // The export is moved first: if the process is killed in between, the run is still finished and exports again.
  ASSIGN_OR_RETURN(const bool has_model, Exists(files, model));
  if (has_model) RETURN_IF_ERROR(files.RenameNoReplace(model, model + end));
  RETURN_IF_ERROR(writer.SetAside(absl::StrCat("run", end, ".h5")));
  return writer;
}

}  // namespace reprise
