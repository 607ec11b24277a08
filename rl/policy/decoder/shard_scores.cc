#include "rl/policy/decoder/shard_scores.h"

#include <algorithm>
#include <cstring>

#include "kernels/products/products.h"
#include "models/decoder/load_balancing.h"

namespace reprise::rl {
namespace {

// Returns the number of rows whose logits are held at once: at most 4 MiB of them.
int64_t LogitRows(int64_t vocabulary) { return std::clamp<int64_t>((int64_t{1} << 20) / vocabulary, 1, 64); }

}  // namespace

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

void ShowShardLogits(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups, int64_t max_rows,
                     const TokenLogits& receive, ShardWorkspace* workspace) {
  const int64_t width = decoder.config.hidden_size, vocabulary = decoder.config.vocab_size;
  ShardForward forward(decoder, groups, workspace);
  std::vector<float> hidden, logits;
  for (const MicroBatch& batch : PlanShard(groups, max_rows)) {
    forward.Run(batch);
    forward.ForEachCompletion(batch, [&](const ScoredCompletion& completion) {
      const int64_t block = std::min(completion.tokens, LogitRows(vocabulary));
      hidden.resize(static_cast<size_t>(block * width));
      logits.resize(static_cast<size_t>(block * vocabulary));
      for (int64_t first = 0; first < completion.tokens; first += block) {
        const int64_t rows = std::min(block, completion.tokens - first);
        for (int64_t r = 0; r < rows; ++r) {
          std::memcpy(hidden.data() + r * width, forward.HiddenBefore(batch, completion, first + r),
                      static_cast<size_t>(width) * sizeof(float));
        }
        kernels::Product({hidden.data(), rows, width}, decoder.weights.lm_head(), {logits.data(), rows, vocabulary});
        for (int64_t r = 0; r < rows; ++r) {
          receive(completion.group, completion.completion, first + r,
                  absl::Span<float>(logits.data() + r * vocabulary, static_cast<size_t>(vocabulary)));
        }
      }
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
    forward.PredictValues(batch, head);
    forward.ForEachCompletion(batch, [&](const ScoredCompletion& completion) {
      forward.CopyValues(batch, completion, &value_T);
      receive(completion.group, completion.completion, value_T);
    });
  }
}

std::vector<int64_t> CountShardExperts(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups,
                                       int64_t max_rows, ShardWorkspace* workspace) {
  std::vector<int64_t> count_LE = models::NoExpertCounts(decoder.config);
  ShardForward forward(decoder, groups, workspace);
  for (const MicroBatch& batch : PlanShard(groups, max_rows)) {
    forward.Run(batch);
    if (OpensGroup(batch)) models::AddExpertCounts(workspace->prompt_activations, absl::MakeSpan(count_LE));
    models::AddExpertCounts(workspace->activations, absl::MakeSpan(count_LE));
  }
  return count_LE;
}

}  // namespace reprise::rl
