#include "pipelines/stored_weights.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/status_macros.h"
#include "rl/run/step_number.h"
#include "rl/run/stored_tensors.h"

namespace reprise {
namespace {

constexpr absl::string_view kGroup = rl::kCheckpointGroups[0];

absl::Status NoWeights(int64_t step, const std::vector<int64_t>& steps) {
  if (steps.empty()) {
    return absl::NotFoundError(
        "the run holds no checkpoint: it ended early; artifact.checkpoint_every stores them on the way");
  }
  return absl::NotFoundError(absl::StrCat("the run holds no checkpoint of step ", step, ", only of step",
                                          steps.size() == 1 ? " " : "s ", absl::StrJoin(steps, ", ")));
}

}  // namespace

std::vector<int64_t> StepsWithWeights(const StoredRun& run) {
  const int64_t before = rl::ArtifactStep(run.config, rl::Phase::kTraining, 0);
  std::vector<int64_t> steps;
  for (const CheckpointInfo& checkpoint : run.reader->checkpoints()) {
    if (checkpoint.group == kGroup && checkpoint.step > before) steps.push_back(checkpoint.step - before);
  }
  return steps;
}

absl::StatusOr<std::vector<float>> ReadWeights(const StoredRun& run, int64_t step,
                                               const models::ParameterLayout& layout) {
  const std::vector<int64_t> steps = StepsWithWeights(run);
  if (std::find(steps.begin(), steps.end(), step) == steps.end()) return NoWeights(step, steps);
  return rl::ReadFlat(*run.reader, rl::ArtifactStep(run.config, rl::Phase::kTraining, step), kGroup, layout);
}

}  // namespace reprise
