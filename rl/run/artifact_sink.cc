#include "rl/run/artifact_sink.h"

#include <algorithm>
#include <utility>

#include "core/status/status_macros.h"
#include "data/artifact/run_state.h"
#include "rl/config/load.h"
#include "rl/run/path_keys.h"
#include "rl/run/step_number.h"
#include "rl/run/stored_tensors.h"
#include "rl/run/workloads.h"

namespace reprise::rl {
namespace {

constexpr double kCommitSeconds = 5, kFirstSaveSeconds = 5, kSaveSeconds = 120;
constexpr double kMostSaves = 50;  // for a large model: saving takes at most a fiftieth of the time
constexpr int64_t kStates = 2;     // the newer one may turn out to be corrupted

}  // namespace

RunHeader HeaderOf(const Config& config, const RunParts& parts) {
  RunHeader header;
  header.config_text = CanonicalConfig(WithoutPaths(config));
  for (const ExternalFile& file : parts.external_files) {
    header.external_files.push_back({file.name, file.sha256});
  }
  header.streams = MakeRecordSchema(config).streams;
  Sort(header);
  return header;
}

RunWriterOptions MakeRunWriterOptions(const Config& config) {
  RunWriterOptions options;
  options.segment_steps = config.execution.commit_every;
  options.keep_checkpoints = config.artifact.keep_checkpoints;
  return options;
}

ArtifactSink::ArtifactSink(const Config& config, RunOutput output)
    : config_(config), output_(std::move(output)), begin_(output_.clock()), last_commit_(begin_), last_save_(begin_) {}

absl::StatusOr<bool> ArtifactSink::Commit(const StepTables& step) {
  RETURN_IF_ERROR(output_.writer.CommitStep(ArtifactStep(config_, step.phase, step.step), step.tables));
  if (output_.clock() - last_commit_ >= kCommitSeconds) {
    RETURN_IF_ERROR(output_.writer.Flush());
    last_commit_ = output_.clock();
  }
  RETURN_IF_ERROR(output_.observer(step));
  return true;
}

absl::Status ArtifactSink::Checkpoint(const PolicyState& state) {
  const int64_t number = ArtifactStep(config_, state.phase, state.step);
  for (const TensorGroup& group : CheckpointGroups(state)) {
    RETURN_IF_ERROR(output_.writer.AddCheckpoint(number, group.name, group.tensors));
  }
  return absl::OkStatus();
}

bool ArtifactSink::WantsState(Phase phase, int64_t step, bool ends) {
  const int64_t every = config_.execution.save_every;
  if (ends || (every > 0 && ArtifactStep(config_, phase, step) % every == 0)) return true;
  // Saves soon at first, so that a new run has weights to inspect, then less and less often.
  const double interval = std::clamp(last_save_ - begin_, kFirstSaveSeconds, kSaveSeconds);
  return every == 0 && output_.clock() - last_save_ >= std::max(interval, kMostSaves * save_cost_);
}

// Steps are committed before a state that follows them. A Flush returns an error if another process has resumed the
// run: then its files are not removed, and that it has removed ours is not the error to report.
absl::Status ArtifactSink::SaveState(const PolicyState& state) {
  RETURN_IF_ERROR(output_.writer.Flush());
  const double begin = output_.clock();
  absl::Status saved = SaveLearnerState(output_.files, output_.directory, output_.header, config_, state);
  if (saved.ok()) {
    saved = RetireStates(output_.files, output_.directory, kStates, [this] { return output_.writer.Flush(); });
  }
  if (!saved.ok()) {
    RETURN_IF_ERROR(output_.writer.Flush());
    return saved;
  }
  last_save_ = output_.clock();
  save_cost_ = last_save_ - begin;
  ++states_;
  return absl::OkStatus();
}

}  // namespace reprise::rl
