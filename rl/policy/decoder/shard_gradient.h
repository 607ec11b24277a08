#ifndef RL_POLICY_DECODER_SHARD_GRADIENT_H_
#define RL_POLICY_DECODER_SHARD_GRADIENT_H_

// Computes the gradient of one logical shard of a step: forward over its groups, the loss of each completion, and
// backward, batch by batch in canonical order.

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "models/decoder/decoder.h"
#include "rl/policy/decision_scores.h"
#include "rl/policy/decoder/shard_forward.h"

namespace reprise::rl {

// The loss of one completion: reads its scores and writes its gradients over zeros, or returns an error for non-finite
// numbers. Called once per completion, on the thread that runs the shard.
using CompletionLoss = std::function<absl::Status(int64_t group, int64_t completion, const DecisionScores& scores,
                                                  const DecisionGradients& gradients)>;

// The loss of the values of one completion, one per token: reads them and writes d loss / d value over zeros, or
// returns an error. Called after the CompletionLoss of the same completion, on the same thread.
using CompletionValueLoss = std::function<absl::Status(int64_t group, int64_t completion,
                                                       absl::Span<const float> value_T, absl::Span<float> dvalue_T)>;

// A value function on top of the decoder that a shard is run through, and where its gradient goes.
struct ShardValues {
  ShardValues(const models::ValueHead& value_head, const models::ValueHeadGradient& head_gradient,
              const CompletionValueLoss& value_loss)
      : head(value_head), gradient(head_gradient), loss(value_loss) {}
  models::ValueHead head;
  models::ValueHeadGradient gradient;
  const CompletionValueLoss& loss;
  std::function<void()> head_is_final = nullptr;  // called when the head's gradient is final; may be null
};

// Counts for assertions and metrics.
struct ShardCounts : PassCounts {
  std::vector<int64_t> expert_count_LE;   // how often each expert of each layer was chosen
  std::vector<double> probability_sum_E;  // router probabilities over all layers and rows, segments in order
  std::vector<float> largest_logit_LH;    // Activations::largest_logit_LH, over all rows
};

// What a shard is run with.
struct ShardOptions {
  int64_t max_rows = 0;  // of a batch; 0: the whole shard is one batch. Changes no bit of the gradient or of the scores
  float temperature = 1.0f;
  models::AuxiliaryGradient auxiliary_E = {};
  // The value head on the same hidden states, whose loss's gradient flows into the decoder too; null: none.
  ShardValues* values = nullptr;
  // A decoder of the same shape, which runs forward over the same batches: the policy's divergence from it is passed to
  // the loss. Null: none.
  const models::Decoder* reference = nullptr;
};

// gradient: prepared by StartShard. With no groups the gradient is zero. Deterministic. Returns the first error of
// `loss`, in order of completions; the gradient is then incomplete.
absl::StatusOr<ShardCounts> AccumulateShard(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups,
                                            const ShardOptions& options, const CompletionLoss& loss,
                                            ShardWorkspace* workspace, models::ShardGradient* gradient,
                                            models::GradientSink* sink = nullptr);

// The same for a decoder that is only a value network: without log-probabilities and load balancing.
absl::Status AccumulateShardValues(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups,
                                   int64_t max_rows, ShardWorkspace* workspace, models::ShardGradient* gradient,
                                   ShardValues* values, models::GradientSink* sink = nullptr);

}  // namespace reprise::rl

#endif  // RL_POLICY_DECODER_SHARD_GRADIENT_H_
