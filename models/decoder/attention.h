#ifndef MODELS_DECODER_ATTENTION_H_
#define MODELS_DECODER_ATTENTION_H_

// Attention of one layer over a packed batch: every segment attends to its prefix and to itself, head by head. Query
// head h reads key head h / (heads / key heads). The threads of a team divide the key heads.

#include <cstdint>

#include "absl/types/span.h"
#include "core/parallel/team.h"
#include "models/decoder/activations.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"

namespace reprise::models {

// Computes attended_TD and statistics_HT2 of layer `index` from its qkv_TC. `outside` is the activations of the outside
// prefix (null if no segment has an outside prefix).
void AttendForward(const Activations& activations, const Activations* outside, int64_t index, const Team& team);

// Computes dqkv_TC from dattended_TD. The gradients of rotated queries are assigned; those of keys and values are added
// to the activations' key gradients (accumulated over completions), and to those of the outside prefix.
void AttendBackward(const Activations& activations, const Activations* outside, int64_t index,
                    const kernels::ConstRows& dattended_TD, const kernels::Rows& dqkv_TC, const Team& team);

// QK-clip (Kimi K2, arXiv 2507.20534, section 2.1): after an update, the queries and keys of heads whose attention
// logits have become too large are scaled down. Here both pass a norm over the whole projection, which would undo a
// smaller projection: so the heads' parts of the norms' gains are scaled instead.
//
// largest_LH: the largest logit q k / sqrt(width) of each layer and query head (Activations::largest_logit_LH). Scales
// a head's queries by sqrt(g), where g = min(1, threshold / largest), and its keys, which a group of query heads may
// share, by the root of the least g of the group: then no logit of the same states is greater than the threshold.
// Returns the number of query heads whose logits were too large. `layout` must have the layers' own tensors. Pure but
// for `parameters`.
int64_t ClipAttention(const DecoderConfig& config, const DecoderLayout& layout, absl::Span<const float> largest_LH,
                      double threshold, absl::Span<float> parameters);

}  // namespace reprise::models

#endif  // MODELS_DECODER_ATTENTION_H_
