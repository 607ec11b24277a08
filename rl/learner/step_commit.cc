#include "rl/learner/step_commit.h"

#include <utility>

#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/status/status_macros.h"
#include "rl/learner/step_gather.h"

namespace reprise::rl {
namespace {

bool WantsDigests(const Config& config, const Step& step) {
  const int64_t every = config.artifact.digest_every;
  const int64_t last = step.phase == Phase::kWarmUp ? config.warm_up.steps : config.run.steps;
  return (every > 0 && step.step % every == 0) || step.step == last;
}

StepRecord RecordOf(MetricInputs inputs, Updater::Digests digests, Step* step) {
  StepRecord record;
  record.phase = step->phase;
  record.step = step->step;
  record.task_P = std::move(step->share.task_P);
  record.episode_N = std::move(step->share.episode_N);
  record.expert_count_E = step->expert_count_E;
  record.gradient_digests = std::move(digests.gradient);
  record.weight_digests = std::move(digests.weights);
  inputs.learning_rate = step->learning_rate;
  inputs.grad_norm = step->grad_norm;
  inputs.aux_loss = step->aux_loss;
  record.metrics = step->phase == Phase::kWarmUp
                       ? WarmUpMetrics(inputs, step->share.outcome_N)
                       : TrainingMetrics(inputs, record, step->share.first_outcome_N, step->share.outcome_N);
  return record;
}

// The tensors of a flat array.
std::vector<TensorView> Views(const models::ParameterLayout& layout, absl::Span<const std::byte> bytes) {
  std::vector<TensorView> tensors;
  for (const models::ParameterSpec& spec : layout.specs) {
    tensors.push_back({spec.name, DType::kF32, spec.shape,
                       bytes.subspan(static_cast<size_t>(spec.offset) * sizeof(float),
                                     static_cast<size_t>(spec.size) * sizeof(float))});
  }
  return tensors;
}

absl::Status Checkpoint(const LearnerParts& parts, Phase phase, int64_t step, Updater* updater) {
  const bool root = parts.comm.rank() == 0;
  std::vector<int64_t> wanted = {root && parts.sink->WantsCheckpoint(phase, step) ? 1 : 0};
  RETURN_IF_ERROR(AllreduceMax(parts.comm, absl::MakeSpan(wanted)));
  if (wanted[0] == 0) return absl::OkStatus();
  const models::ParameterLayout& layout = parts.model.layout();
  Tensor first("first_moment", DType::kF32, {layout.total}), second("second_moment", DType::kF32, {layout.total});
  RETURN_IF_ERROR(updater->GatherMoments(first.mutable_data<float>(), second.mutable_data<float>()));
  absl::Status written = absl::OkStatus();
  if (root) {
    written = parts.sink->Checkpoint(step, Views(layout, AsBytes(parts.model.parameters())),
                                     Views(layout, first.bytes()), Views(layout, second.bytes()));
  }
  return AgreeOk(parts.comm, written);
}

}  // namespace

absl::StatusOr<bool> CommitStep(const LearnerParts& parts, MetricInputs inputs, Updater* updater, Step* step) {
  Updater::Digests digests;
  if (WantsDigests(parts.config, *step)) {
    ASSIGN_OR_RETURN(digests, updater->DigestTensors());
  }
  RETURN_IF_ERROR(GatherStep(parts.comm, &step->share));
  absl::StatusOr<bool> go_on = true;
  if (parts.comm.rank() == 0) go_on = parts.sink->Commit(RecordOf(std::move(inputs), std::move(digests), step));
  RETURN_IF_ERROR(AgreeOk(parts.comm, go_on.status()));
  std::vector<int64_t> stop = {*go_on ? 0 : 1};
  RETURN_IF_ERROR(AllreduceMax(parts.comm, absl::MakeSpan(stop)));
  RETURN_IF_ERROR(Checkpoint(parts, step->phase, step->step, updater));
  return stop[0] == 0;
}

}  // namespace reprise::rl
