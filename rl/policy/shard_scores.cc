#include "rl/policy/shard_scores.h"

namespace reprise::rl {

void ScoreShard(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups, int64_t max_rows,
                float temperature, const CompletionScores& receive, ShardWorkspace* workspace) {
  ShardForward forward(decoder, groups, workspace);
  std::vector<float> logprob_T, entropy_T;
  for (const MicroBatch& batch : PlanShard(groups, max_rows)) {
    forward.Run(batch);
    forward.Score(batch, temperature);
    forward.ForEachCompletion(batch, [&](const ScoredCompletion& completion) {
      logprob_T.clear(), entropy_T.clear();
      for (int64_t t = 0; t < completion.tokens; ++t) {
        logprob_T.push_back(completion.logprob(t));
        entropy_T.push_back(completion.entropy(t));
      }
      receive(completion.group, completion.completion, logprob_T, entropy_T);
    });
  }
}

void EvaluateShard(const models::Decoder& decoder, const models::ValueHead& head,
                   const std::vector<TrainingGroup>& groups, int64_t max_rows, const CompletionValues& receive,
                   ShardWorkspace* workspace) {
  ShardForward forward(decoder, groups, workspace);
  std::vector<float> value_T;
  for (const MicroBatch& batch : PlanShard(groups, max_rows)) {
    forward.Run(batch);
    forward.Evaluate(batch, head);
    forward.ForEachCompletion(batch, [&](const ScoredCompletion& completion) {
      forward.CopyValues(batch, completion, &value_T);
      receive(completion.group, completion.completion, value_T);
    });
  }
}

std::vector<int64_t> CountShardExperts(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups,
                                       int64_t max_rows, ShardWorkspace* workspace) {
  std::vector<int64_t> count_E(static_cast<size_t>(decoder.config.num_experts));
  ShardForward forward(decoder, groups, workspace);
  for (const MicroBatch& batch : PlanShard(groups, max_rows)) {
    forward.Run(batch);
    if (OpensGroup(batch)) AddExpertCounts(workspace->prompt_activations, &count_E);
    AddExpertCounts(workspace->activations, &count_E);
  }
  return count_E;
}

}  // namespace reprise::rl
