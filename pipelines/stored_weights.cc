#include "pipelines/stored_weights.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/status_macros.h"
#include "rl/run/artifact_sink.h"

namespace reprise {
namespace {

constexpr char kGroup[] = "weights";

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

absl::StatusOr<Tensor> ReadWeights(const StoredRun& run, int64_t step, const models::ParameterLayout& layout) {
  const std::vector<int64_t> steps = StepsWithWeights(run);
  if (std::find(steps.begin(), steps.end(), step) == steps.end()) return NoWeights(step, steps);
  ASSIGN_OR_RETURN(const std::vector<Tensor> tensors,
                   run.reader->ReadCheckpoint(rl::ArtifactStep(run.config, rl::Phase::kTraining, step), kGroup));
  if (tensors.size() != layout.specs.size()) {
    return absl::DataLossError(absl::StrCat("the checkpoint of step ", step, " has ", tensors.size(),
                                            " tensors; the model has ", layout.specs.size()));
  }
  Tensor flat("weights", DType::kF32, {layout.total});
  for (size_t i = 0; i < tensors.size(); ++i) {
    const models::ParameterSpec& spec = layout.specs[i];
    const Tensor& tensor = tensors[i];
    if (tensor.name() != spec.name || tensor.dtype() != DType::kF32 || tensor.shape() != spec.shape) {
      return absl::DataLossError(absl::StrCat("the checkpoint of step ", step, " holds ", tensor.name(), " ",
                                              ToString(tensor.shape()), " where the model has ", spec.name, " ",
                                              ToString(spec.shape)));
    }
    const absl::Span<const float> values = tensor.data<float>();
    std::copy(values.begin(), values.end(), flat.mutable_data<float>().begin() + spec.offset);
  }
  return flat;
}

}  // namespace reprise
