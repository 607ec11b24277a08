#ifndef RL_POLICY_DECODER_SHARD_PASS_H_
#define RL_POLICY_DECODER_SHARD_PASS_H_

// Computes the gradient of one logical shard with respect to all of a model's parameters: the language model's, and the
// value function's where there is one.

#include <cstdint>

#include "absl/status/statusor.h"
#include "models/decoder/gradient.h"
#include "models/decoder/model.h"
#include "rl/policy/decoder/shard_gradient.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

// As ShardPass, with what the decoder makes of it.
struct DecoderPass {
  float temperature;
  const models::AuxiliaryGradient& auxiliary_E;
  const CompletionLoss& loss;
  const CompletionValueLoss& value_loss;  // null: the value function's gradient is 0
  const models::Decoder* reference;       // as AccumulateShard's
};

// As AccumulateShard. Without an error all of target.total is assigned, and every tensor of a shard that has groups was
// reported to the target.
absl::StatusOr<ShardCounts> RunShardPass(const models::Model& model, const DecoderPass& pass,
                                         const std::vector<TrainingGroup>& groups, int64_t max_rows,
                                         const PassTarget& target, ShardWorkspace* workspace);

}  // namespace reprise::rl

#endif  // RL_POLICY_DECODER_SHARD_PASS_H_
