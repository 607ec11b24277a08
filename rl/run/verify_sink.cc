#include "rl/run/verify_sink.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/status/status_macros.h"
#include "rl/config/extension.h"
#include "rl/record/record_schema.h"
#include "rl/record/recorded.h"
#include "rl/run/early_end.h"
#include "rl/run/step_number.h"
#include "rl/run/stored_tensors.h"
#include "rl/run/workloads.h"

namespace reprise::rl {
namespace {

std::set<int64_t> StoredCheckpoints(const Config& config, const RunReader& run) {
  std::set<int64_t> steps;
  for (const CheckpointInfo& info : run.checkpoints()) steps.insert(std::get<1>(StepOfNumber(config, info.step)));
  return steps;
}

// Returns the training steps whose checkpoints are compared: those that the run must have, and those that an unfinished
// run still has besides. Two may be missing:
//   that of the last step, while the run is unfinished, because a step is committed before its checkpoint;
//   the oldest one, where the run was complete at a step after its newest checkpoint and was then extended: the
//   checkpoint of that end has displaced it, and the longer run makes none there, unless it records its earlier ends.
std::set<int64_t> ComparedCheckpoints(const Config& config, const RunReader& run, bool is_finished,
                                      const StepTables& last) {
  if (last.phase != Phase::kTraining) return {};
  const bool ends_early = EndsRunEarly(config, ReadResults(last));
  const auto is_made = [&](int64_t step) {
    return HasCheckpoint(config, Phase::kTraining, step) || (ends_early && step == last.step);
  };
  std::set<int64_t> stored = StoredCheckpoints(config, run);
  int64_t newest = last.step;
  if (!is_finished && !stored.contains(newest)) --newest;
  while (newest > 0 && !is_made(newest)) --newest;
  std::set<int64_t> compared = KeptCheckpoints(config, newest);
  const bool was_extended = newest < last.step && !DependsOnEnd(config);
  const bool is_full = static_cast<int64_t>(compared.size()) == config.artifact.keep_checkpoints;
  if (was_extended && is_full && !compared.empty() && !stored.contains(*compared.begin())) {
    compared.erase(compared.begin());
  }
  if (is_finished) return compared;
  std::erase_if(stored, [&](int64_t step) { return !is_made(step); });
  compared.merge(stored);
  return compared;
}

std::string DigestText(absl::Span<const std::byte> bytes) { return absl::StrCat("sha256:", ToHex(Sha256(bytes))); }

}  // namespace

VerifySink::VerifySink(const Config& config, const RunReader& run, bool is_finished,
                       const std::vector<StepTables>& stored, std::vector<std::string> tensor_names,
                       std::function<void(const StepTables&)> observer)
    : config_(config),
      schema_(MakeRecordSchema(config)),
      run_(run),
      stored_(stored),
      tensor_names_(std::move(tensor_names)),
      observer_(std::move(observer)) {
  if (stored.empty()) return;
  const StepTables& last = stored.back();
  ends_in_sft_ = last.phase == Phase::kSft && config.run.steps > 0;
  checkpoints_ = ComparedCheckpoints(config, run, is_finished, last);
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
  return !ends_in_sft_ || stored != &stored_.back();
}

bool VerifySink::WantsCheckpoint(Phase phase, int64_t step, bool /*is_over*/) {
  return !divergence_ && phase == Phase::kTraining && checkpoints_.contains(step);
}

absl::Status VerifySink::Checkpoint(const PolicyState& state) {
  for (const TensorGroup& group : CheckpointGroups(state)) RETURN_IF_ERROR(CompareCheckpoint(state.step, group));
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
