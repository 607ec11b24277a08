#ifndef RL_POLICY_DECODER_SHARD_FORWARD_H_
#define RL_POLICY_DECODER_SHARD_FORWARD_H_

// Runs the forward pass of a logical shard of a step: teacher-forced, batch by batch in canonical order, a prompt once
// for all of its completions. Gradients, scores and counts are computed from it.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/decoder/decoder.h"
#include "models/decoder/gradient.h"
#include "models/decoder/scoring.h"
#include "models/heads/value_head.h"
#include "rl/policy/decoder/group_batch.h"

namespace reprise::rl {

// The memory of one thread, reused across shards, for any decoder of this configuration.
struct ShardWorkspace {
  // `recompute`: batches store less and are recomputed in backward passes. The prompt of a cut group stores everything.
  explicit ShardWorkspace(const models::DecoderConfig& config, bool recompute = false)
      : activations(config, /*training=*/true, recompute), prompt_activations(config, /*training=*/true) {}
  models::Activations activations, prompt_activations;
  Team team = {};                  // threads that share the work of passes
  models::ShardGradient gradient;  // of the current shard, with the memory that tied embeddings need
  models::ScoreBuffers scores, prompt_scores;
  models::PackedBatch batch, prompt_batch;
  models::ScoredRows scored, prompt_scored;
  std::vector<float> dhidden_TD, dlogprob, prompt_dlogprob;
  std::vector<double> dentropy_S, prompt_dentropy_S;  // by row whose log-prob the loss reads
  models::ValueBuffers values, prompt_values;         // of these rows, which precede the tokens
  std::vector<double> dvalue_S, prompt_dvalue_S;
  std::vector<float> rounded_dentropy_S, rounded_dvalue_S;
  std::vector<double> ddivergence_S, prompt_ddivergence_S;  // by row whose log-prob the loss reads
  std::vector<float> rounded_ddivergence_S;
  std::unique_ptr<ShardWorkspace> reference;  // of the reference decoder; created when needed
};

// Where the scores of one completion are stored: those of its later tokens in `scores`, from later_target and later_row
// on, that of its first token in `first_scores`, at first_target and first_row. Both buffers are the same unless the
// group was cut.
struct ScoredCompletion {
  int64_t group = 0, completion = 0, tokens = 0;
  const models::ScoreBuffers *first_scores = nullptr, *scores = nullptr;
  int64_t first_target = 0, first_row = 0, later_target = 0, later_row = 0;

  // Returns the index of the row before the token among the scored rows of its buffers.
  int64_t row(int64_t token) const { return token == 0 ? first_row : later_row + token - 1; }
  float logprob(int64_t token) const {
    return token == 0 ? first_scores->logprob[first_target] : scores->logprob[later_target + token - 1];
  }
  float entropy(int64_t token) const {
    return token == 0 ? first_scores->statistics_S[first_row].entropy
                      : scores->statistics_S[later_row + token - 1].entropy;
  }
  // Returns the divergence from the reference; valid after ScoreDivergence.
  float divergence(int64_t token) const {
    return token == 0 ? first_scores->divergence_S[first_row] : scores->divergence_S[later_row + token - 1];
  }
};

// One pass over the batches of PlanShard, in order.
class ShardForward {
 public:
  // All arguments must outlive this.
  ShardForward(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups, ShardWorkspace* workspace)
      : decoder_(decoder), groups_(groups), work_(*workspace) {}

  // Computes the activations of the batch; for a cut group's first piece, those of the group's prompt first.
  void Run(const MicroBatch& batch);
  // Applies the head to what Run computed.
  void Score(const MicroBatch& batch, float temperature);
  // Computes the divergence of the rows that Score scored from another decoder, which has run over the same batch.
  void ScoreDivergence(const MicroBatch& batch, const models::Decoder& reference, const ShardWorkspace& reference_work);
  // Calls `visit` for every completion of what Run computed, in order.
  void ForEachCompletion(const MicroBatch& batch, const std::function<void(const ScoredCompletion&)>& visit) const;
  // Returns the hidden state, which Run computed, of the row before the token.
  const float* HiddenBefore(const MicroBatch& batch, const ScoredCompletion& completion, int64_t token) const;
  // PredictValues computes the values over what Run computed; CopyValues then returns those of a completion, one per
  // token: of the state before it.
  void PredictValues(const MicroBatch& batch, const models::ValueHead& head);
  void CopyValues(const MicroBatch& batch, const ScoredCompletion& completion, std::vector<float>* value_T) const;

 private:
  const models::Decoder& decoder_;
  const std::vector<TrainingGroup>& groups_;
  ShardWorkspace& work_;
};

// Return whether the batch is the first piece of a cut group, which computes the prompt, or its last piece.
inline bool OpensGroup(const MicroBatch& batch) { return batch.cut && batch.completion_begin == 0; }
inline bool ClosesGroup(const MicroBatch& batch, const std::vector<TrainingGroup>& groups) {
  return batch.cut && batch.completion_end == static_cast<int64_t>(groups[batch.group_begin].completion_G.size());
}

// Returns batches of at most max_rows rows (0: the whole shard is one batch).
std::vector<MicroBatch> PlanShard(const std::vector<TrainingGroup>& groups, int64_t max_rows);

}  // namespace reprise::rl

#endif  // RL_POLICY_DECODER_SHARD_FORWARD_H_
