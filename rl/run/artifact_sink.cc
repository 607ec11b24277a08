#include "rl/run/artifact_sink.h"

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/config/load.h"
#include "rl/learner/record_streams.h"

namespace reprise::rl {

int64_t ArtifactStep(const Config& config, Phase phase, int64_t step) {
  return phase == Phase::kWarmUp ? step : config.warm_up.steps + step;
}

bool HasCheckpoint(const Config& config, Phase phase, int64_t step) {
  if (phase == Phase::kWarmUp) return false;
  const int64_t every = config.artifact.checkpoint_every;
  return step == config.run.steps || (every > 0 && step % every == 0);
}

RunHeader HeaderOf(const Config& config, const RunParts& parts) {
  RunHeader header;
  header.config_text = CanonicalConfig(WithoutPaths(config));
  for (const ExternalFile& file : parts.external_files) {
    header.external_files.push_back({file.name, file.sha256});
  }
  header.streams = RecordSchemas();
  return header;
}

absl::StatusOr<bool> ArtifactSink::Commit(const StepRecord& record) {
  RETURN_IF_ERROR(writer_.CommitStep(ArtifactStep(config_, record.phase, record.step), ToTables(record)));
  RETURN_IF_ERROR(observer_(record));
  return true;
}

absl::Status ArtifactSink::Checkpoint(int64_t step, absl::Span<const TensorView> weights,
                                      absl::Span<const TensorView> first_moments,
                                      absl::Span<const TensorView> second_moments) {
  const int64_t number = ArtifactStep(config_, Phase::kTraining, step);
  RETURN_IF_ERROR(writer_.AddCheckpoint(number, kCheckpointGroups[0], weights));
  RETURN_IF_ERROR(writer_.AddCheckpoint(number, kCheckpointGroups[1], first_moments));
  return writer_.AddCheckpoint(number, kCheckpointGroups[2], second_moments);
}

}  // namespace reprise::rl
