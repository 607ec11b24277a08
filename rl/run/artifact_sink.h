#ifndef RL_RUN_ARTIFACT_SINK_H_
#define RL_RUN_ARTIFACT_SINK_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "data/artifact/run_writer.h"
#include "rl/config/config.h"
#include "rl/learner/step_sink.h"
#include "rl/run/prepare.h"

namespace reprise::rl {

// The artifact's number of a step: warm-up steps come first.
int64_t ArtifactStep(const Config& config, Phase phase, int64_t step);

// Whether the artifact holds weights and moments after this step.
bool HasCheckpoint(const Config& config, Phase phase, int64_t step);

// A checkpoint's groups of tensors, in the order of StepSink::Checkpoint.
inline constexpr absl::string_view kCheckpointGroups[] = {"weights", "first_moments", "second_moments"};

// What a run's artifact says of it before the first step.
RunHeader HeaderOf(const Config& config, const RunParts& parts);

// Writes steps and checkpoints into a run's artifact, and shows each step to an observer.
class ArtifactSink : public StepSink {
 public:
  // `writer` must outlive this. `observer` (progress, metrics.jsonl, ...) sees a step once it is committed.
  ArtifactSink(const Config& config, RunWriter* writer, std::function<absl::Status(const StepRecord&)> observer)
      : config_(config), writer_(*writer), observer_(std::move(observer)) {}

  absl::StatusOr<bool> Commit(const StepRecord& record) override;
  bool WantsCheckpoint(Phase phase, int64_t step) override { return HasCheckpoint(config_, phase, step); }
  absl::Status Checkpoint(int64_t step, absl::Span<const TensorView> weights,
                          absl::Span<const TensorView> first_moments,
                          absl::Span<const TensorView> second_moments) override;

 private:
  const Config config_;
  RunWriter& writer_;
  const std::function<absl::Status(const StepRecord&)> observer_;
};

}  // namespace reprise::rl

#endif  // RL_RUN_ARTIFACT_SINK_H_
