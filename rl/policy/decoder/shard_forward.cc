#include "rl/policy/decoder/shard_forward.h"

namespace reprise::rl {

void ShardForward::Run(const MicroBatch& batch) {
  if (OpensGroup(batch)) {
    work_.prompt_batch.Clear();
    work_.prompt_scored.Clear();
    AppendPrompt(groups_[batch.group_begin], &work_.prompt_batch, &work_.prompt_scored);
    models::Forward(decoder_, work_.prompt_batch, nullptr, &work_.prompt_activations, work_.team);
  }
  work_.batch.Clear();
  work_.scored.Clear();
  if (batch.cut) {
    AppendCompletions(groups_[batch.group_begin], batch.completion_begin, batch.completion_end, models::kOutsidePrefix,
                      &work_.batch, &work_.scored);
  } else {
    for (int64_t g = batch.group_begin; g < batch.group_end; ++g) {
      AppendGroup(groups_[g], &work_.batch, &work_.scored);
    }
  }
  models::Forward(decoder_, work_.batch, batch.cut ? &work_.prompt_activations : nullptr, &work_.activations,
                  work_.team);
}

void ShardForward::Score(const MicroBatch& batch, float temperature) {
  if (OpensGroup(batch)) {
    models::ScoreForward(decoder_, work_.prompt_activations, work_.prompt_scored, temperature, &work_.prompt_scores,
                         work_.team);
  }
  models::ScoreForward(decoder_, work_.activations, work_.scored, temperature, &work_.scores, work_.team);
}

void ShardForward::ScoreDivergence(const MicroBatch& batch, const models::Decoder& reference,
                                   const ShardWorkspace& reference_work) {
  if (OpensGroup(batch)) {
    models::DivergenceForward(decoder_, reference, reference_work.prompt_activations, work_.prompt_scored,
                              &work_.prompt_scores, work_.team);
  }
  models::DivergenceForward(decoder_, reference, reference_work.activations, work_.scored, &work_.scores, work_.team);
}

void ShardForward::PredictValues(const MicroBatch& batch, const models::ValueHead& head) {
  if (OpensGroup(batch)) {
    models::ValueForward(head, work_.prompt_activations.hidden_TD().data, work_.prompt_scored.row_S,
                         &work_.prompt_values);
  }
  models::ValueForward(head, work_.activations.hidden_TD().data, work_.scored.row_S, &work_.values);
}

const float* ShardForward::HiddenBefore(const MicroBatch& batch, const ScoredCompletion& completion,
                                        int64_t token) const {
  const bool of_prompt = batch.cut && token == 0;
  const models::ScoredRows& scored = of_prompt ? work_.prompt_scored : work_.scored;
  const models::Activations& activations = of_prompt ? work_.prompt_activations : work_.activations;
  return activations.hidden_TD()[scored.row_S[completion.row(token)]];
}

void ShardForward::CopyValues(const MicroBatch& batch, const ScoredCompletion& completion,
                              std::vector<float>* value_T) const {
  const std::vector<float>& first_S = (batch.cut ? work_.prompt_values : work_.values).value_S;
  value_T->clear();
  for (int64_t t = 0; t < completion.tokens; ++t) {
    value_T->push_back((t == 0 ? first_S : work_.values.value_S)[completion.row(t)]);
  }
}

void ShardForward::ForEachCompletion(const MicroBatch& batch,
                                     const std::function<void(const ScoredCompletion&)>& visit) const {
  // Targets are in row order: for each group the completions' later tokens, then all first tokens.
  int64_t target = 0, row = 0;
  for (int64_t g = batch.group_begin; g < batch.group_end; ++g) {
    const TrainingGroup& group = groups_[g];
    const int64_t begin = batch.cut ? batch.completion_begin : 0;
    const int64_t end = batch.cut ? batch.completion_end : static_cast<int64_t>(group.completion_G.size());
    int64_t later = 0;
    for (int64_t c = begin; c < end; ++c) {
      later += static_cast<int64_t>(group.completion_G[c].size()) - 1;
    }
    const int64_t first_target = batch.cut ? 0 : target + later, first_row = batch.cut ? 0 : row + later;
    for (int64_t c = begin; c < end; ++c) {
      const int64_t tokens = static_cast<int64_t>(group.completion_G[c].size());
      visit({g, c, tokens, batch.cut ? &work_.prompt_scores : &work_.scores, &work_.scores, first_target + c, first_row,
             target, row});
      target += tokens - 1;
      row += tokens - 1;
    }
    if (!batch.cut) target += end - begin, ++row;
  }
}

std::vector<MicroBatch> PlanShard(const std::vector<TrainingGroup>& groups, int64_t max_rows) {
  std::vector<GroupRows> rows;
  for (const TrainingGroup& group : groups) rows.push_back(MakeGroupRows(group));
  return PlanMicroBatches(rows, max_rows);
}

}  // namespace reprise::rl
