#ifndef MODELS_DECODER_LAYER_H_
#define MODELS_DECODER_LAYER_H_

// The forward arithmetic of one decoder layer apart from where keys and values live: one code for sampling and
// training, so that a row has the same bits in both.
//
// T rows, D model width, KV width of all key heads, E experts, K experts a token, F expert width, C = D + 2 KV.

#include <cstdint>

#include "core/parallel/team.h"
#include "kernels/experts/experts.h"
#include "kernels/rotary/rotary.h"
#include "models/decoder/config.h"
#include "models/decoder/weights.h"

namespace reprise::models {

// The rows of one layer. Sampling reuses one set for all layers; training keeps one a layer for backward.
struct LayerRows {
  float* x_TD;           // the residual stream before the layer
  float* inverse_rms_T;  // of the input norm
  float* normed_TD;      // after the input norm
  float* raw_TC;         // projections q | k | v
  float* qkv_TC;         // after norms, clipping and rotation: what attention sees
  float *inverse_rms_q_T, *inverse_rms_k_T;
  float* statistics_HT2;  // attention's row statistics, [heads][T][2]; null in sampling
  float* attended_TD;     // attention's output before the o projection
  float* middle_TD;       // the residual stream between attention and experts
  float* inverse_rms_post_T;
  float* post_normed_TD;
  float *router_logits_TE, *probability_TE;
  int32_t* expert_TK;
  float* weight_TK;
  kernels::ExpertPlan* plan;
  kernels::ExpertActivations experts;
  float* mixed_TD;  // the experts' output, before it joins the residual stream
};

// The rows from `first` on: what belongs to a row moves, the plan and the dispatched rows stay those of the whole
// batch. Not for training, whose statistics are by head.
LayerRows RowsFrom(const DecoderConfig& config, const LayerRows& layer, int64_t first);

// From the residual stream to rotated queries, keys and values: fills normed, raw and qkv. `team` shares the product.
void ProjectQueriesKeysValues(const DecoderConfig& config, const LayerWeights& weights,
                              const kernels::RotaryTable& rotary, int64_t rows, const int32_t* position_T,
                              const LayerRows& layer, const Team& team = Team());

// From attention's output (attended) to the experts' inputs and weights: o projection, residual, norm, router. A row
// depends on that row alone. `team` shares the o projection.
void MixAndRoute(const DecoderConfig& config, const LayerWeights& weights, int64_t rows, const LayerRows& layer,
                 const Team& team = Team());

// From there to the stream after the layer, x_next_TD: plans and runs the experts, residual.
void RunExperts(const DecoderConfig& config, const LayerWeights& weights, int64_t rows, const LayerRows& layer,
                float* x_next_TD);

}  // namespace reprise::models

#endif  // MODELS_DECODER_LAYER_H_
