#ifndef MODELS_DECODER_ATTENTION_H_
#define MODELS_DECODER_ATTENTION_H_

// Attention of one layer over a packed batch: every segment attends to its prefix and to itself, head by head. Query
// head h reads key head h / (heads / key heads). The threads of a team divide the key heads.

#include <vector>

#include "core/parallel/team.h"
#include "models/decoder/activations.h"

namespace reprise::models {

// Computes layer.attended_TD and layer.statistics_HT2 from layer.qkv_TC. `outside` is this layer of the outside
// prefix's activations (null if no segment has an outside prefix).
void AttendForward(const DecoderConfig& config, const PackedBatch& batch, const LayerRows& layer,
                   const PackedBatch* outside_batch, const LayerRows* outside, const Team& team);

// The gradients of rotated queries are assigned; those of keys and values are added, [T, KV], accumulated over
// completions, also to those of the outside prefix (null without one).
struct AttentionGradients {
  const float* dattended_TD;
  float *dqkv_TC, *dkey_TW, *dvalue_TW, *outside_dkey, *outside_dvalue;
};

// Computes the other gradients from dattended_TD.
void AttendBackward(const DecoderConfig& config, const PackedBatch& batch, const LayerRows& layer,
                    const PackedBatch* outside_batch, const LayerRows* outside, const AttentionGradients& gradients,
                    const Team& team);

}  // namespace reprise::models

#endif  // MODELS_DECODER_ATTENTION_H_
