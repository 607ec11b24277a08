#ifndef MODELS_DECODER_DECODER_H_
#define MODELS_DECODER_DECODER_H_

// The decoder as one differentiable function, from packed tokens to hidden states, with explicit forward and backward
// passes over kernels/. Log-probabilities, value heads and action heads are computed from the hidden states. Each
// thread computes a shard; threads without a shard join the team of a shard that is being computed. The same inputs
// give the same bits, whatever the batch's composition, the boundaries of batches, and the division of the work among
// threads.

#include "core/parallel/team.h"
#include "models/decoder/activations.h"
#include "models/decoder/batch.h"
#include "models/decoder/gradient.h"
#include "models/decoder/parameters.h"
#include "models/decoder/weights.h"

namespace reprise::models {

// The parts of a model that do not depend on a batch. All must outlive the calls.
struct Decoder {
  const DecoderConfig& config;
  const DecoderLayout& layout;
  const PackedWeights& weights;
  const kernels::RotaryTable& rotary;  // positions up to config.max_position_embeddings
};

// The prompt of a group that is divided into batches: segment 0 of the batch that `activations` were computed from.
using OutsidePrefix = Activations*;

// Computes `activations` (constructed with training = true) from `batch`; activations->hidden_TD() is the output.
// Segments with prefix kOutsidePrefix attend to `outside`, which must have been constructed without `recompute`. CHECKs
// this, and that tokens and positions are in range.
void Forward(const Decoder& decoder, const PackedBatch& batch, const Activations* outside, Activations* activations,
             const Team& team = Team());

// Computes one layer of Forward: from its input to the input of the next. Backward calls it for activations that were
// constructed with `recompute`.
void ComputeLayer(const Decoder& decoder, int64_t index, const Activations* outside, Activations* activations,
                  const Team& team);

// The input of the load-balancing loss: d loss / d probability of each expert, the same for every layer and for every
// row of each sequence that a segment stands for (models/decoder/load_balancing.h); empty if there is none.
using AuxiliaryGradient = std::vector<float>;

// Backpropagates dhidden_TD (which is overwritten) through the batch of `activations`, continuing the shard's
// gradients. The batches of a shard must come in canonical row order. If a group is divided into batches, its prompt is
// a batch of its own after its completions, which add to the gradients of the prompt's keys and values through
// `outside`. In the shard's last batch target.sink is called for each tensor as soon as its layer is done. The
// lm-head's gradient is computed by ScoreBackward (models/decoder/scoring.h), which is called first.
void Backward(const Decoder& decoder, const AuxiliaryGradient& auxiliary_E, Activations* activations,
              Activations* outside, float* dhidden_TD, const GradientTarget& target, const Team& team = Team());

}  // namespace reprise::models

#endif  // MODELS_DECODER_DECODER_H_
