#ifndef RL_POLICY_SHARD_FORWARD_H_
#define RL_POLICY_SHARD_FORWARD_H_

// The forward half of what is done with a logical shard of a step: teacher-forced, batch by batch in canonical order,
// a prompt once for all of its completions. Gradients, scores and counts are made from it.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/decoder/decoder.h"
#include "models/decoder/gradient.h"
#include "models/decoder/scoring.h"
#include "models/heads/value_head.h"
#include "rl/policy/group_batch.h"
#include "rl/policy/micro_batches.h"

namespace reprise::rl {

// Memory of one thread, reused from shard to shard, for any decoder of the configuration.
struct ShardWorkspace {
  // `recompute`: batches keep less and are computed again in backward passes. The prompt of a cut group keeps all.
  explicit ShardWorkspace(const models::DecoderConfig& config, bool recompute = false)
      : activations(config, /*training=*/true, recompute), prompt_activations(config, /*training=*/true) {}
  models::Activations activations, prompt_activations;
  Team team = {};                  // shares the work of passes
  models::ShardGradient gradient;  // of the shard in work, with the room that tied embeddings need
  models::ScoreBuffers scores, prompt_scores;
  models::PackedBatch batch, prompt_batch;
  models::ScoredRows scored, prompt_scored;
  std::vector<float> dhidden_TD, dlogprob, prompt_dlogprob;
  std::vector<double> dentropy_S, prompt_dentropy_S;  // by scored row
  models::ValueBuffers values, prompt_values;         // of the rows before each token: those that are scored
  std::vector<double> dvalue_S, prompt_dvalue_S;
  std::vector<float> rounded_dentropy_S, rounded_dvalue_S;
  std::vector<double> ddivergence_S, prompt_ddivergence_S;  // by scored row
  std::vector<float> rounded_ddivergence_S;
  std::unique_ptr<ShardWorkspace> reference;  // of another decoder that runs beside this one; made when needed
};

// Where the scores of one completion stand: those of its later tokens in `scores` from a target and a row on, that of
// its first token at a target of a row of `first_scores`, which are the same unless the group was cut.
struct ScoredCompletion {
  int64_t group = 0, completion = 0, tokens = 0;
  const models::ScoreBuffers *first_scores = nullptr, *scores = nullptr;
  int64_t first_target = 0, first_row = 0, later_target = 0, later_row = 0;

  // Where the row before the token stands among the scored ones of its buffers.
  int64_t row(int64_t token) const { return token == 0 ? first_row : later_row + token - 1; }
  float logprob(int64_t token) const {
    return token == 0 ? first_scores->logprob[static_cast<size_t>(first_target)]
                      : scores->logprob[static_cast<size_t>(later_target + token - 1)];
  }
  float entropy(int64_t token) const {
    return token == 0 ? first_scores->statistics_S[static_cast<size_t>(first_row)].entropy
                      : scores->statistics_S[static_cast<size_t>(later_row + token - 1)].entropy;
  }
  // From the reference, where ScoreDivergence has run.
  float divergence(int64_t token) const {
    return token == 0 ? first_scores->divergence_S[static_cast<size_t>(first_row)]
                      : scores->divergence_S[static_cast<size_t>(later_row + token - 1)];
  }
};

// One pass over the batches of PlanShard, in order.
class ShardForward {
 public:
  // All must outlive this.
  ShardForward(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups, ShardWorkspace* workspace)
      : decoder_(decoder), groups_(groups), work_(*workspace) {}

  // Activations of the batch; of a cut group's first piece, those of its prompt before it.
  void Run(const MicroBatch& batch);
  // The head over what Run computed.
  void Score(const MicroBatch& batch, float temperature);
  // The divergence from another decoder, which has run over the same batch, of what Score scored.
  void ScoreDivergence(const MicroBatch& batch, const models::Decoder& reference, const ShardWorkspace& reference_work,
                       float temperature);
  // Every completion of what Run computed, in order.
  void ForEachCompletion(const MicroBatch& batch, const std::function<void(const ScoredCompletion&)>& visit) const;
  // The hidden state of the row before the token, of what Run computed.
  const float* HiddenBefore(const MicroBatch& batch, const ScoredCompletion& completion, int64_t token) const;
  // The values over what Run computed, and then those of a completion, one a token: of the state before it.
  void Evaluate(const MicroBatch& batch, const models::ValueHead& head);
  void CopyValues(const MicroBatch& batch, const ScoredCompletion& completion, std::vector<float>* value_T) const;

 private:
  const models::Decoder& decoder_;
  const std::vector<TrainingGroup>& groups_;
  ShardWorkspace& work_;
};

// Whether the batch is the first piece of a cut group, which computes the prompt, or the last.
inline bool OpensGroup(const MicroBatch& batch) { return batch.cut && batch.completion_begin == 0; }
inline bool ClosesGroup(const MicroBatch& batch, const std::vector<TrainingGroup>& groups) {
  return batch.cut && batch.completion_end ==
                          static_cast<int64_t>(groups[static_cast<size_t>(batch.group_begin)].completion_G.size());
}

// Batches of at most max_rows rows (0: the whole shard is one).
std::vector<MicroBatch> PlanShard(const std::vector<TrainingGroup>& groups, int64_t max_rows);

// Adds how often each expert was chosen for the rows of a forward pass, over all layers.
void AddExpertCounts(const models::Activations& activations, std::vector<int64_t>* count_E);

}  // namespace reprise::rl

#endif  // RL_POLICY_SHARD_FORWARD_H_
