#ifndef MODELS_DECODER_LAYER_H_
#define MODELS_DECODER_LAYER_H_

// The forward arithmetic of one decoder layer, except where keys and values are stored: the same code for sampling and
// training, so that a row has the same bits in both.
//
// T rows, D model width, KV width of all key heads, E experts, K experts per token, F expert width, C = D + 2 KV.

#include <cstdint>

#include "core/parallel/team.h"
#include "kernels/contract/operands.h"
#include "kernels/experts/experts.h"
#include "kernels/rotary/rotary.h"
#include "kernels/router/router.h"
#include "models/decoder/config.h"
#include "models/decoder/weights.h"

namespace reprise::models {

// The rows of one layer. Sampling reuses one set for all layers; training keeps one per layer for backward.
struct LayerRows {
  kernels::Rows x_TD;       // the residual stream before the layer
  float* inverse_rms_T;     // of the input norm
  kernels::Rows normed_TD;  // after the input norm
  kernels::Rows raw_TC;     // projections q | k | v
  kernels::Rows qkv_TC;     // after norms, clipping and rotation: the input of attention
  float *inverse_rms_q_T, *inverse_rms_k_T;
  float* statistics_HT2;      // attention's row statistics, [heads][T][2]; null in sampling
  kernels::Rows attended_TD;  // attention's output before the o projection
  kernels::Rows middle_TD;    // the residual stream between attention and experts
  float* inverse_rms_post_T;
  kernels::Rows post_normed_TD;
  kernels::Rows router_logits_TE, probability_TE;
  int32_t* expert_TK;
  float* weight_TK;
  kernels::ExpertPlan* plan;
  kernels::ExpertActivations experts;
  kernels::Rows mixed_TD;               // the experts' output, before it is added to the residual stream
  const uint64_t* dropout_T = nullptr;  // PackedBatch::dropout_T; null: nothing is dropped

  int64_t rows() const { return x_TD.rows; }
};

// Returns a range of the rows: the plan and the dispatched rows remain those of the whole batch. Not for training,
// whose statistics are stored by head.
LayerRows Slice(const DecoderConfig& config, const LayerRows& layer, const kernels::Range& range);

// The columns of an array [T, C].
struct Projections {
  Projections(const DecoderConfig& config, const kernels::Rows& qkv_TC);
  kernels::Rows q, k, v;
};

kernels::RouterShape RouterOf(const DecoderConfig& config, int64_t rows);

// The operands of the layer's experts; layer.plan must be theirs. `adapters`, those of this layer, are used if it has
// any.
kernels::ExpertLayer ExpertsOf(const LayerWeights& weights, const LayerRows& layer,
                               const kernels::ExpertAdditions* adapters);

// Computes rotated queries, keys and values from the residual stream: fills normed, raw and qkv. `team` divides the
// product.
void ProjectQueriesKeysValues(const DecoderConfig& config, const LayerWeights& weights,
                              const kernels::RotaryTable& rotary, const int32_t* position_T, const LayerRows& layer,
                              const Team& team = Team());

// Computes the experts' inputs and weights from attention's output (attended): o projection, residual, norm, router. A
// row depends on that row alone. `team` divides the o projection.
void MixAndRoute(const DecoderConfig& config, const LayerWeights& weights, const LayerRows& layer,
                 const Team& team = Team());

// Computes the stream after the layer, x_next_TD, from the outputs of MixAndRoute: plans and runs the experts, and adds
// the residual.
void RunExperts(const DecoderConfig& config, const LayerWeights& weights, const LayerRows& layer,
                const kernels::Rows& x_next_TD);

}  // namespace reprise::models

#endif  // MODELS_DECODER_LAYER_H_
