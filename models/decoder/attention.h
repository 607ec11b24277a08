#ifndef MODELS_DECODER_ATTENTION_H_
#define MODELS_DECODER_ATTENTION_H_

// Attention of one layer over a packed batch: every segment attends to its prefix and to itself, head by head. Query
// head h reads key head h / (heads / key heads). The threads of a team divide the key heads.

#include <cstdint>

#include "core/parallel/team.h"
#include "models/decoder/activations.h"

namespace reprise::models {

// Computes attended_TD and statistics_HT2 of layer `index` from its qkv_TC. `outside` is the activations of the outside
// prefix (null if no segment has an outside prefix).
void AttendForward(const Activations& activations, const Activations* outside, int64_t index, const Team& team);

// Computes dqkv_TC from dattended_TD. The gradients of rotated queries are assigned; those of keys and values are added
// to the activations' key gradients (accumulated over completions), and to those of the outside prefix.
void AttendBackward(const Activations& activations, const Activations* outside, int64_t index,
                    const kernels::ConstRows& dattended_TD, const kernels::Rows& dqkv_TC, const Team& team);

}  // namespace reprise::models

#endif  // MODELS_DECODER_ATTENTION_H_
