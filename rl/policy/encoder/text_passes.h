#ifndef RL_POLICY_ENCODER_TEXT_PASSES_H_
#define RL_POLICY_ENCODER_TEXT_PASSES_H_

// Forward and backward passes of an encoder over distinct texts, micro-batch by micro-batch. A text is a sequence from
// position 0; its embedding is the mean of its last hidden states.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/parallel/team.h"
#include "models/decoder/decoder.h"
#include "rl/policy/encoder/encoder_heads.h"
#include "rl/policy/encoder/text_decisions.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

// The memory of one thread, for any encoder of this configuration: one set of activations, so that the texts of only
// one micro-batch have any.
class TextWorkspace final : public PassWorkspace {
 public:
  TextWorkspace(const models::DecoderConfig& config, const PassMemory& memory, const Team& team)
      : activations(config, /*training=*/true, memory.recompute), team(team), max_rows(memory.max_rows) {}
  int64_t activation_bytes() const override { return activations.bytes(); }

  models::Activations activations;
  const Team team;  // threads that share the work of passes
  const int64_t max_rows;
  models::PackedBatch batch;
  models::ShardGradient gradient;  // of the current shard
  std::vector<float> dhidden_TD;
  EncoderHeadBuffers heads;
  int64_t encoded_texts = 0;
};

// Returns the embeddings of all texts, [texts, D]. visit, if any, is called with the activations of each micro-batch,
// in order.
std::vector<float> EncodeTexts(const models::Decoder& encoder, const UniqueTexts& texts, TextWorkspace* work,
                               const std::function<void(const models::Activations&)>& visit = nullptr);

// Computes the gradient of the encoder's parameters, after EncodeTexts of the same texts with the same workspace, from
// the gradient of the embeddings. work->gradient: prepared by models::StartShard. Activations of more than one
// micro-batch are computed again.
void BackwardTexts(const models::Decoder& encoder, const UniqueTexts& texts, const float* dembedding_UD,
                   const models::AuxiliaryGradient& auxiliary_E, models::GradientSink* sink, TextWorkspace* work);

}  // namespace reprise::rl

#endif  // RL_POLICY_ENCODER_TEXT_PASSES_H_
