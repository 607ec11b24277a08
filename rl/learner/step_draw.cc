#include "rl/learner/step_draw.h"

#include <utility>
#include <vector>

#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/status/status_macros.h"
#include "rl/config/environment_section.h"
#include "rl/episodes/action_checks.h"
#include "rl/episodes/task_batch.h"
#include "rl/record/record_turns.h"

namespace reprise::rl {
namespace {

// Counts over all ranks. The sums are of integers, so that their order does not matter. expert_count_E: of this rank;
// empty where sampling did not count.
absl::StatusOr<StepCounts> CountStep(const StepBatch& batch, std::vector<int64_t> expert_count_E, StepTools* tools) {
  // Sampling counts the experts itself; a replay must compute the same record. Warm-up answers are counted only where
  // their loss needs it.
  const models::DecoderConfig& decoder = tools->parts.model.config();
  const bool needed = batch.shape.phase == Phase::kTraining || decoder.router_aux_loss_coef != 0.0;
  if (needed && expert_count_E.empty() && !batch.task_P.empty())
    expert_count_E = tools->updater.gradient().CountExperts(tools->InputsOf(batch));
  expert_count_E.resize(static_cast<size_t>(decoder.num_experts));
  StepCounts counts;
  for (const EpisodeRecord& episode : batch.episode_N) {
    const int64_t tokens = static_cast<int64_t>(episode.tokens.size());
    counts.learned_tokens += NumLearnedTokens(episode);
    counts.rows += tokens - 1;
    counts.tokens += tokens + static_cast<int64_t>(batch.TaskOf(episode).tokens.size());
  }
  for (const TaskRecord& task : batch.task_P) counts.rows += static_cast<int64_t>(task.tokens.size());
  std::vector<int64_t> sums = {counts.learned_tokens, counts.rows, counts.tokens};
  sums.insert(sums.end(), expert_count_E.begin(), expert_count_E.end());
  RETURN_IF_ERROR(AllreduceSum(tools->parts.comm, absl::MakeSpan(sums)));
  return StepCounts{sums[0], sums[1], sums[2], {sums.begin() + 3, sums.end()}};
}

}  // namespace

absl::StatusOr<StepBatch> DrawStep(const StepShape& shape, StepTools* tools) {
  const LearnerParts& parts = tools->parts;
  const int end_shard = tools->shards.ShardsOf(parts.comm.rank()).end;
  const int64_t end = FirstPromptOfShard(shape.prompts, tools->shards.shards(), end_shard);
  StepBatch batch;
  batch.shape = shape;
  ASSIGN_OR_RETURN(batch.task_P, AgreeOk(parts.comm, DrawTasks(parts.config, parts.problems, parts.tokenizer,
                                                               parts.model.config().max_position_embeddings,
                                                               shape.phase, shape.number, shape.first_prompt, end)));
  ASSIGN_OR_RETURN(Episodes episodes, AgreeOk(parts.comm, parts.source.Draw(shape.phase, shape.number, batch.task_P)));
  batch.episode_N = std::move(episodes.episode_N);
  if (shape.phase == Phase::kTraining && ChecksActions(parts.config.environment)) {
    const ActionCheckOptions checks = ActionCheckOptionsOf(parts.config.environment);
    for (EpisodeRecord& episode : batch.episode_N) {
      CheckActions(parts.tokenizer, tools->rewards.rules, checks, &episode);
    }
  }
  ASSIGN_OR_RETURN(batch.counts, CountStep(batch, std::move(episodes.expert_count_E), tools));
  return batch;
}

}  // namespace reprise::rl
