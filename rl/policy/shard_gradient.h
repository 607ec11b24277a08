#ifndef RL_POLICY_SHARD_GRADIENT_H_
#define RL_POLICY_SHARD_GRADIENT_H_

// The gradient of one logical shard of a step: teacher-forced forward over its groups, the loss of each completion, and
// backward, batch by batch in canonical order. A prompt is computed once for all of its completions.

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "models/decoder/decoder.h"
#include "models/decoder/scoring.h"
#include "rl/policy/group_batch.h"

namespace reprise::rl {

// The loss of one completion: reads its log-probabilities (at the sampling temperature) and entropies, one a token, and
// writes d loss / d log-probability. Called once a completion, from whichever thread runs the shard.
using CompletionLoss = std::function<void(int64_t group, int64_t completion, absl::Span<const float> logprob_T,
                                          absl::Span<const float> entropy_T, absl::Span<float> dlogprob_T)>;

// What happened, for assertions and metrics.
struct ShardCounts {
  int64_t prompt_rows = 0, completion_rows = 0;  // rows through the decoder's forward
  int64_t micro_batches = 0, cut_groups = 0;
  std::vector<int64_t> expert_count_E;    // chosen experts over all layers and rows
  std::vector<double> probability_sum_E;  // router probabilities over all layers and rows, segments in order
};

// Memory of one thread, reused from shard to shard.
struct ShardWorkspace {
  explicit ShardWorkspace(const models::DecoderConfig& config)
      : activations(config, /*training=*/true), prompt_activations(config, /*training=*/true) {}
  models::Activations activations, prompt_activations;
  models::ScoreBuffers scores, prompt_scores;
  models::PackedBatch batch;
  models::ScoredRows scored, prompt_scored;
  std::vector<float> dhidden_TD, dlogprob;
};

// gradient: readied by StartShard. max_rows bounds a batch (0: the whole shard is one). With no groups the gradient is
// zero. Deterministic; max_rows changes no bit of the gradient or of what `loss` sees.
ShardCounts AccumulateShard(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups, int64_t max_rows,
                            float temperature, const models::AuxiliaryGradient& auxiliary_E, const CompletionLoss& loss,
                            ShardWorkspace* workspace, models::ShardGradient* gradient, models::GradientSink* sink);

// How often each expert is chosen over all layers and rows of the groups, by a forward pass alone: what the
// load-balancing loss needs where no sampling counted it.
std::vector<int64_t> CountShardExperts(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups,
                                       int64_t max_rows, ShardWorkspace* workspace);

}  // namespace reprise::rl

#endif  // RL_POLICY_SHARD_GRADIENT_H_
