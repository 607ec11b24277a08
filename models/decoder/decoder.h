#ifndef MODELS_DECODER_DECODER_H_
#define MODELS_DECODER_DECODER_H_

// The decoder as one differentiable function, from packed tokens to hidden states. Log-probabilities, value heads and
// action heads sit on top of the hidden states. Explicit forward and backward over kernels/. Threads take shards; those
// that have none left join the team of a shard in work. The same inputs give the same bits, whatever the batch's
// composition, where batches were cut, and who shares the work.

#include "core/parallel/team.h"
#include "models/decoder/activations.h"
#include "models/decoder/batch.h"
#include "models/decoder/gradient.h"
#include "models/decoder/parameters.h"
#include "models/decoder/weights.h"

namespace reprise::models {

// Everything of a model that does not change with a batch. All must outlive the calls.
struct Decoder {
  const DecoderConfig& config;
  const ParameterLayout& layout;
  const PackedWeights& weights;
  const kernels::RotaryTable& rotary;  // positions up to config.max_position_embeddings
};

// The prompt of a group that was cut: segment 0 of the batch that `activations` were made from.
using OutsidePrefix = Activations*;

// Fills `activations` (made with training = true) from `batch`; activations->hidden_TD() is the output. Segments with
// prefix kOutsidePrefix attend to `outside`, which keeps everything. CHECKs that tokens and positions are in range.
void Forward(const Decoder& decoder, const PackedBatch& batch, const Activations* outside, Activations* activations,
             const Team& team = Team());

// The part of Forward that is one layer: from its input to that of the next. Backward calls it for activations that are
// made with `recompute`.
void ComputeLayer(const Decoder& decoder, int64_t index, const Activations* outside, Activations* activations,
                  const Team& team);

// What the load-balancing loss needs: d loss / d probability of each expert, the same for every row and layer
// (models/decoder/load_balancing.h); empty when there is none.
using AuxiliaryGradient = std::vector<float>;

// Backpropagates dhidden_TD (destroyed) through the batch of `activations`, continuing the shard's gradients. The
// batches of a shard come in canonical row order; a cut group's prompt is a batch of its own after its completions,
// which add to its key and value gradients through `outside`. `last` marks the shard's last batch: each tensor is then
// final, and `sink` (may be null) hears of it as soon as its layer is done; the lm-head is ScoreBackward's
// (models/decoder/scoring.h), which comes first.
void Backward(const Decoder& decoder, const AuxiliaryGradient& auxiliary_E, Activations* activations,
              Activations* outside, float* dhidden_TD, bool last, ShardGradient* gradient, GradientSink* sink,
              const Team& team = Team());

}  // namespace reprise::models

#endif  // MODELS_DECODER_DECODER_H_
