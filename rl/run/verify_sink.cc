#include "rl/run/verify_sink.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/status/status_macros.h"
#include "rl/record/record_schema.h"
#include "rl/record/recorded.h"
#include "rl/run/early_end.h"
#include "rl/run/step_number.h"
#include "rl/run/stored_tensors.h"
#include "rl/run/workloads.h"

namespace reprise::rl {
namespace {

bool HasCheckpointOf(const RunReader& run, int64_t number) {
  const std::vector<CheckpointInfo> infos = run.checkpoints();
  return std::any_of(infos.begin(), infos.end(), [&](const CheckpointInfo& info) { return info.step == number; });
}

// Returns the training step of the newest checkpoint of a run whose last step is `last`; 0 if there is none.
int64_t NewestCheckpoint(const Config& config, const StepTables& last, bool lacks_last_checkpoint) {
  if (last.phase != Phase::kTraining) return 0;
  int64_t step = last.step;
  if (!lacks_last_checkpoint && EndsRunEarly(config, ResultsOf(last))) return step;
  if (lacks_last_checkpoint) --step;
  while (step > 0 && !HasCheckpoint(config, Phase::kTraining, step)) --step;
  return step;
}

std::string DigestText(absl::Span<const std::byte> bytes) { return absl::StrCat("sha256:", ToHex(Sha256(bytes))); }

}  // namespace

VerifySink::VerifySink(const Config& config, const RunReader& run, bool is_finished,
                       const std::vector<StepTables>& stored, std::vector<std::string> tensor_names,
                       std::function<void(const StepTables&)> observer)
    : config_(config),
      schema_(RecordSchemaOf(config)),
      run_(run),
      stored_(stored),
      tensor_names_(std::move(tensor_names)),
      observer_(std::move(observer)) {
  if (stored.empty()) return;
  const StepTables& last = stored.back();
  ends_in_warm_up_ = last.phase == Phase::kWarmUp && config.run.steps > 0;
  lacks_last_checkpoint_ = !is_finished && !HasCheckpointOf(run, ArtifactStep(config, last.phase, last.step));
  newest_checkpoint_ = NewestCheckpoint(config, last, lacks_last_checkpoint_);
}

bool VerifySink::IsLast(Phase phase, int64_t step) const {
  return !stored_.empty() && stored_.back().phase == phase && stored_.back().step == step;
}

// Both sides have the same configuration, so that missing digests are a difference.
absl::StatusOr<bool> VerifySink::Commit(const StepTables& step) {
  if (divergence_) return false;  // found in the checkpoint of the step before
  const StepTables* const stored = FindStep(stored_, step.phase, step.step);
  if (stored == nullptr) return absl::DataLossError(absl::StrCat("the run contains no step ", step.step));
  divergence_ = FirstDivergence(schema_, *stored, step, tensor_names_, Digests::kRequired);
  if (divergence_) return false;
  compared_steps_.emplace(step.phase, step.step);
  observer_(step);
  return !ends_in_warm_up_ || stored != &stored_.back();
}

bool VerifySink::WantsCheckpoint(Phase phase, int64_t step, bool is_over) {
  if (divergence_ || (lacks_last_checkpoint_ && IsLast(phase, step))) return false;
  return is_over || (HasCheckpoint(config_, phase, step) && KeepsCheckpoint(config_, step, newest_checkpoint_));
}

absl::Status VerifySink::Checkpoint(const PolicyState& state) {
  for (const TensorGroup& group : CheckpointOf(state)) RETURN_IF_ERROR(CompareCheckpoint(state.step, group));
  return absl::OkStatus();
}

absl::Status VerifySink::SaveState(const PolicyState&) { return absl::InternalError("a comparison saves no state"); }

absl::Status VerifySink::CompareCheckpoint(int64_t step, const TensorGroup& computed) {
  if (divergence_) return absl::OkStatus();
  const auto differs = [&](absl::string_view tensor, std::string stored, std::string actual) {
    divergence_ =
        Divergence{Phase::kTraining, step, "checkpoint", absl::StrCat(computed.name, " ", tensor), std::move(stored),
                   std::move(actual)};
    return absl::OkStatus();
  };
  const int64_t number = ArtifactStep(config_, Phase::kTraining, step);
  const std::vector<CheckpointInfo> infos = run_.checkpoints();
  const bool is_stored = std::any_of(infos.begin(), infos.end(), [&](const CheckpointInfo& info) {
    return info.step == number && info.group == computed.name;
  });
  if (!is_stored) return differs("", "no checkpoint", "one");
  ASSIGN_OR_RETURN(const std::vector<Tensor> stored, run_.ReadCheckpoint(number, computed.name));
  if (stored.size() != computed.tensors.size()) {
    return differs("number of tensors", absl::StrCat(stored.size()), absl::StrCat(computed.tensors.size()));
  }
  for (size_t i = 0; i < stored.size(); ++i) {
    const TensorView& tensor = computed.tensors[i];
    if (stored[i].name() != tensor.name) return differs(tensor.name, stored[i].name(), tensor.name);
    const bool same =
        stored[i].dtype() == tensor.dtype && stored[i].shape() == tensor.shape &&
        std::equal(tensor.bytes.begin(), tensor.bytes.end(), stored[i].bytes().begin(), stored[i].bytes().end());
    if (!same) return differs(tensor.name, DigestText(stored[i].bytes()), DigestText(tensor.bytes));
  }
  compared_groups_.emplace(number, computed.name);
  return absl::OkStatus();
}

absl::Status VerifySink::CheckComplete() const {
  if (divergence_) return absl::OkStatus();
  const auto beyond = [](const std::string& what) {
    return absl::DataLossError(absl::StrCat("the run contains ", what, ", which its configuration does not produce"));
  };
  for (const StepTables& step : stored_) {
    if (compared_steps_.contains({step.phase, step.step})) continue;
    return beyond(absl::StrCat("a record of ", StepName(step.phase, step.step)));
  }
  for (const CheckpointInfo& info : run_.checkpoints()) {
    if (compared_groups_.contains({info.step, info.group})) continue;
    return beyond(absl::StrCat("a checkpoint group ", info.group, " under step number ", info.step));
  }
  for (const StreamInfo& stream : run_.streams()) {
    const auto is_it = [&](const StreamSchema& known) { return known == stream.schema; };
    if (std::any_of(schema_.streams.begin(), schema_.streams.end(), is_it)) continue;
    return beyond(absl::StrCat("a stream ", stream.schema.name));
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
