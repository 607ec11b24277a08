#ifndef RL_POLICY_ENCODER_ENCODER_PASS_H_
#define RL_POLICY_ENCODER_ENCODER_PASS_H_

// Forward and backward passes of a whole network, encoder and heads, over the decisions of a shard.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "models/decoder/model.h"
#include "rl/policy/categorical/action_rows.h"
#include "rl/policy/encoder/encoder_heads.h"
#include "rl/policy/encoder/text_decisions.h"
#include "rl/policy/encoder/text_passes.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

struct EncoderNetwork {
  const models::Model& model;
  const EncoderHeads& heads;
  uint64_t dropout_seed = 0;
};

// Returns the distinct texts of the shard, with what the network drops of them.
UniqueTexts TextsOf(const EncoderNetwork& network, const ShardInput& shard, bool after_truncation = false);

// Returns the distributions over actions after each text, from embeddings [texts, D]. The logits are also kept in
// work->heads, for a backward pass.
ActionDistributions ComputeDistributions(const EncoderNetwork& network, const std::vector<float>& embedding_UD,
                                         float temperature, TextWorkspace* work);

// Returns the value of each text.
std::vector<float> ValuesOf(const EncoderNetwork& network, const std::vector<float>& embedding_UD, TextWorkspace* work);

// Returns the chosen actions of the shard's decisions, in order.
std::vector<int32_t> ActionsIn(const ShardInput& shard);

// As Policy::Accumulate. texts: those of the shard (TextsOf). reference_U: null, or the distributions of pass.reference
// after each text. auxiliary_E: empty, or the gradient of load balancing, of which sum_M then has the sums of
// probabilities.
absl::StatusOr<PassResult> AccumulateDecisions(const EncoderNetwork& network, const UniqueTexts& texts,
                                               const ActionDistributions* reference_U,
                                               const models::AuxiliaryGradient& auxiliary_E, const ShardPass& pass,
                                               const ShardInput& shard, const PassTarget& target, TextWorkspace* work);

}  // namespace reprise::rl

#endif  // RL_POLICY_ENCODER_ENCODER_PASS_H_
