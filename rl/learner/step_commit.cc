#include <algorithm>
#include <utility>
#include <vector>

#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "core/tensor/flat_layout.h"
#include "rl/learner/stages.h"
#include "rl/learner/step_gather.h"
#include "rl/record/recorded.h"

namespace reprise::rl {
namespace {

MetricInputs MakeMetricInputs(const AlgorithmConfig& algorithm, const StepAdvantages& advantages,
                              const StepUpdates& updates, const StepEnd& end, const StepContext& step_context) {
  MetricInputs inputs = {.config = step_context.parts.config,
                         .algorithm = algorithm,
                         .rewards = step_context.parts.workload.rewards(),
                         .may_lack_decisions = step_context.parts.workload.may_lack_decisions()};
  inputs.learning_rate = end.learning_rate;
  inputs.grad_norm = updates.grad_norm;
  inputs.num_mini_batches = updates.num_mini_batches;
  inputs.num_updates = step_context.updater.updates();
  inputs.iterations = updates.iterations;
  inputs.num_tokens = end.num_tokens;
  inputs.mean_prompt_baseline = advantages.mean_prompt_baseline;
  inputs.values = advantages.values;
  inputs.loader = updates.loader;
  for (const EpisodeLossInfo& info : advantages.loss_info_N) {
    inputs.masked_N.push_back(info.masked ? 1 : 0);
    inputs.invalid_N.push_back(info.is_invalid ? 1 : 0);
  }
  return inputs;
}

// Returns the tables of what this rank has of the step.
std::vector<StreamTable> MakeTables(StepBatch* batch, Workload* workload) {
  StepRecord share;
  share.phase = batch->shape.phase;
  share.step = batch->shape.number;
  share.task_P = std::move(batch->task_P);
  share.episode_N = std::move(batch->episode_N);
  return workload->EncodeStep(std::move(share));
}

// Returns the record of the whole step.
absl::StatusOr<StepTables> GatherRecord(const Workload& workload, const StepBatch& batch, const MetricInputs& inputs,
                                        const Metrics& policy_metrics, const Metrics& evaluation, StepShare share,
                                        Updater::Digests digests) {
  StepTables step = {batch.shape.phase, batch.shape.number, std::move(share.tables)};
  StepResults results;
  results.phase = step.phase;
  results.step = step.step;
  results.count_C = batch.counts.count_C;
  results.counts_per_layer = batch.counts.counts_per_layer;
  results.gradient_digests = std::move(digests.gradient);
  results.weight_digests = std::move(digests.weights);
  if (step.phase == Phase::kSft) {
    results.metrics = SftMetrics(inputs, share.outcome_N);
    results.metrics.insert(results.metrics.end(), policy_metrics.begin(), policy_metrics.end());
  } else {
    ASSIGN_OR_RETURN(const StepRecord record, workload.DecodeStep(step));
    results.metrics = TrainingMetrics(inputs, record, share.first_outcome_N, share.outcome_N);
    results.metrics.insert(results.metrics.end(), policy_metrics.begin(), policy_metrics.end());
    results.metrics.insert(results.metrics.end(), evaluation.begin(), evaluation.end());
    workload.AddMetrics(inputs.algorithm, record, &results.metrics);
  }
  std::sort(results.metrics.begin(), results.metrics.end());
  const std::vector<StreamSchema>& streams = workload.schema().streams;
  const bool has_counts =
      std::any_of(streams.begin(), streams.end(), [](const auto& stream) { return stream.name == "routing"; });
  for (StreamTable& table : ResultTables(results, has_counts)) step.tables.push_back(std::move(table));
  CHECK_EQ(step.tables.size(), streams.size());
  return step;
}

// What rank 0's sink requests after a step, shared with all ranks.
struct SaveRequests {
  bool stop = false, checkpoint = false, state = false;
};

absl::StatusOr<SaveRequests> AgreeOnSaves(const LearnerDeps& parts, const StepShape& step, const StepEnd& end,
                                          bool continues) {
  const bool interrupted = parts.interrupt != nullptr && parts.interrupt->load(std::memory_order_relaxed);
  std::vector<int64_t> flags = {continues ? 0 : 1, interrupted ? 1 : 0};
  RETURN_IF_ERROR(AllreduceMax(parts.comm, absl::MakeSpan(flags)));
  const bool stop = flags[0] == 1, interrupt = flags[1] == 1;
  flags = {0, 0};
  if (parts.comm.rank() == 0) {
    flags[0] = parts.sink->WantsCheckpoint(step.phase, step.number, end.is_over) ? 1 : 0;
    flags[1] = parts.sink->WantsState(step.phase, step.number, end.ends_early || interrupt) ? 1 : 0;
  }
  RETURN_IF_ERROR(AllreduceMax(parts.comm, absl::MakeSpan(flags)));
  return SaveRequests{stop || interrupt, flags[0] == 1, flags[1] == 1};
}

absl::Status SaveRequestedState(const SaveRequests& requests, const StepShape& step, const StepEnd& end,
                                StepContext* step_context) {
  if (!requests.checkpoint && !requests.state) return absl::OkStatus();
  step_context->Enter(StepStage::kSave, step);
  const LearnerDeps& parts = step_context->parts;
  const FlatLayout& layout = parts.policy().layout();
  ASSIGN_OR_RETURN(const std::vector<FlatGroup> optimizer, step_context->updater.GatherState());
  absl::Status written = absl::OkStatus();
  if (parts.comm.rank() == 0) {
    PolicyState state;
    state.phase = step.phase;
    state.step = step.number;
    state.weights = ViewsOf(layout, parts.policy().parameters());
    state.optimizer = ViewsOf(layout, optimizer);
    if (step_context->reference != nullptr) {
      state.reference = ViewsOf(step_context->reference->layout(), step_context->reference->parameters());
    }
    state.schedules = end.schedules;
    state.best = end.best;
    if (!end.best_weights.empty()) state.best_weights = ViewsOf(layout, end.best_weights);
    state.is_over = end.is_over;
    state.updates = step_context->updater.updates();
    state.num_tokens = end.num_tokens;
    if (requests.checkpoint) written = parts.sink->Checkpoint(state);
    if (requests.state && written.ok()) written = parts.sink->SaveState(state);
  }
  return AgreeOk(parts.comm, written);
}

}  // namespace

absl::StatusOr<bool> CommitStep(const AlgorithmConfig& algorithm, StepBatch batch, const StepAdvantages& advantages,
                                StepUpdates updates, StepEnd end, StepContext* step_context) {
  const LearnerDeps& parts = step_context->parts;
  const StepShape& shape = batch.shape;
  step_context->Enter(StepStage::kCommit, shape);
  const MetricInputs inputs = MakeMetricInputs(algorithm, advantages, updates, end, *step_context);
  Updater::Digests digests;
  if (end.is_over || end.ends_sft || HasDigests(parts.config, shape.phase, shape.number)) {
    ASSIGN_OR_RETURN(digests, step_context->updater.DigestTensors());
  }
  StepShare share = {MakeTables(&batch, &parts.workload), std::move(updates.first_outcome_N),
                     std::move(updates.outcome_N)};
  RETURN_IF_ERROR(GatherStep(parts.comm, parts.workload.schema(), &share));
  absl::StatusOr<bool> continues = true;
  if (parts.comm.rank() == 0) {
    const absl::StatusOr<StepTables> record = GatherRecord(parts.workload, batch, inputs, updates.policy_metrics,
                                                           end.evaluation, std::move(share), std::move(digests));
    if (record.ok()) {
      continues = parts.sink->Commit(*record);
    } else {
      continues = record.status();
    }
  }
  RETURN_IF_ERROR(AgreeOk(parts.comm, continues.status()));
  ASSIGN_OR_RETURN(const SaveRequests requests, AgreeOnSaves(parts, shape, end, *continues));
  RETURN_IF_ERROR(SaveRequestedState(requests, shape, end, step_context));
  return !requests.stop;
}

}  // namespace reprise::rl
