#include <mutex>
#include <utility>
#include <vector>

#include "core/comm/collectives.h"
#include "core/status/status_macros.h"
#include "rl/learner/stages.h"
#include "rl/record/decisions.h"

namespace reprise::rl {
namespace {

// Returns the sums of the policy's own counts over this rank's shards.
std::vector<int64_t> SumOwnCounts(const std::vector<ShardInput>& inputs, StepContext* step_context) {
  const Policy& policy = step_context->parts.policy();
  std::vector<int64_t> count_C(policy.num_counts());
  if (count_C.empty()) return count_C;
  std::mutex mutex;
  step_context->updater.gradient().ForEachShard(inputs, [&](const ShardInput& input, PassWorkspace* workspace) {
    const std::vector<int64_t> shard_C = policy.CountShard(input, workspace);
    const std::lock_guard<std::mutex> lock(mutex);
    for (size_t c = 0; c < count_C.size(); ++c) count_C[c] += shard_C[c];
  });
  return count_C;
}

// Counts over all ranks. The sums are of integers, so that their order does not matter. drawn: of this rank, whose
// tasks and episodes are those of the batch.
absl::StatusOr<StepCounts> CountStep(const StepBatch& batch, StepEpisodes drawn, StepContext* step_context) {
  const Policy& policy = step_context->parts.policy();
  const std::vector<ShardInput> inputs = step_context->ShardInputs(batch);
  // Sampling counts by itself; a replay must compute the same record. SFT phase answers are counted only where their
  // loss needs it.
  const bool needed = batch.shape.phase == Phase::kTraining || policy.loss_needs_counts();
  std::vector<int64_t>& count_C = drawn.count_C;
  if (needed && count_C.empty()) count_C = SumOwnCounts(inputs, step_context);
  count_C.resize(policy.num_counts());
  StepCounts counts;
  for (const ShardInput& input : inputs) counts.rows += policy.RowsOf(input);
  for (const EpisodeRecord& episode : batch.episode_N) counts.learned_tokens += NumLearned(episode.decisions);
  std::vector<int64_t> sums = {counts.learned_tokens, counts.rows, drawn.num_tokens};
  sums.insert(sums.end(), count_C.begin(), count_C.end());
  RETURN_IF_ERROR(AllreduceSum(step_context->parts.comm, absl::MakeSpan(sums)));
  return StepCounts{sums[0], sums[1], sums[2], {sums.begin() + 3, sums.end()}, policy.counts_per_layer()};
}

}  // namespace

absl::StatusOr<StepBatch> DrawStep(const StepShape& shape, StepContext* step_context) {
  step_context->Enter(StepStage::kDraw, shape);
  const LearnerDeps& parts = step_context->parts;
  const int end_shard = step_context->shards.ShardsOf(parts.comm.rank()).end;
  const int64_t end = FirstPromptOfShard(shape.prompts, step_context->shards.shards(), end_shard);
  StepBatch batch;
  batch.shape = shape;
  ASSIGN_OR_RETURN(StepEpisodes drawn, parts.workload.Draw({shape.phase, shape.number, shape.first_prompt, end}));
  batch.task_P = std::move(drawn.task_P);
  batch.episode_N = std::move(drawn.episode_N);
  ASSIGN_OR_RETURN(batch.counts, CountStep(batch, std::move(drawn), step_context));
  return batch;
}

}  // namespace reprise::rl
