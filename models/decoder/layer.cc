#include "models/decoder/layer.h"

#include "kernels/products/products.h"
#include "kernels/rows/elementwise.h"
#include "kernels/rows/rms_norm.h"
#include "models/decoder/room.h"
#include "models/lora/expert_adapters.h"

namespace reprise::models {
namespace {

// The cost of a product with few rows is reading its weights, so the team divides the panels.
void TeamProduct(const Team& team, const kernels::ConstRows& x, const kernels::PackedMatrix& packed,
                 const kernels::Rows& y) {
  team.ForRanges(kernels::Panels(y.width), 1,
                 [&](int64_t begin, int64_t end) { kernels::Product(x, packed, y, {begin, end}); });
}

}  // namespace

LayerRows Slice(const DecoderConfig& config, const LayerRows& layer, const kernels::Range& range) {
  LayerRows rows = layer;
  for (float** by_row : {&rows.inverse_rms_T, &rows.inverse_rms_q_T, &rows.inverse_rms_k_T, &rows.inverse_rms_post_T}) {
    *by_row += range.begin;
  }
  for (kernels::Rows* view :
       {&rows.x_TD, &rows.normed_TD, &rows.raw_TC, &rows.qkv_TC, &rows.attended_TD, &rows.middle_TD,
        &rows.post_normed_TD, &rows.router_logits_TE, &rows.probability_TE, &rows.mixed_TD}) {
    *view = view->Slice(range);
  }
  rows.expert_TK += range.begin * config.num_experts_per_tok;
  rows.weight_TK += range.begin * config.num_experts_per_tok;
  if (rows.dropout_T != nullptr) rows.dropout_T += range.begin;
  return rows;
}

Projections::Projections(const DecoderConfig& config, const kernels::Rows& qkv_TC)
    : q(qkv_TC.Columns(0, config.hidden_size)),
      k(qkv_TC.Columns(config.hidden_size, config.key_value_width())),
      v(qkv_TC.Columns(config.hidden_size + config.key_value_width(), config.key_value_width())) {}

kernels::RouterShape RouterOf(const DecoderConfig& config, int64_t rows) {
  return {rows, config.num_experts, config.num_experts_per_tok, config.norm_topk_prob};
}

kernels::ExpertLayer ExpertsOf(const LayerWeights& weights, const LayerRows& layer,
                               const kernels::ExpertAdditions* adapters) {
  return {*layer.plan, weights.expert_E.data(), layer.weight_TK, layer.experts,
          weights.adapters.in_experts() ? adapters : nullptr};
}

void ProjectQueriesKeysValues(const DecoderConfig& config, const LayerWeights& weights,
                              const kernels::RotaryTable& rotary, const int32_t* position_T, const LayerRows& layer,
                              const Team& team) {
  const float eps = static_cast<float>(config.rms_norm_eps);
  const Projections raw(config, layer.raw_TC), final(config, layer.qkv_TC);
  kernels::RmsNorm(layer.x_TD, weights.input_norm, eps, layer.normed_TD, layer.inverse_rms_T);
  TeamProduct(team, layer.normed_TD, weights.qkv, layer.raw_TC);
  const RowSeeds seeds = {layer.dropout_T};
  AddAdapter(weights.adapters.q, layer.normed_TD, seeds, raw.q);
  AddAdapter(weights.adapters.k, layer.normed_TD, seeds, raw.k);
  AddAdapter(weights.adapters.v, layer.normed_TD, seeds, raw.v);
  kernels::RmsNorm(raw.q, weights.q_norm, eps, final.q, layer.inverse_rms_q_T);
  kernels::RmsNorm(raw.k, weights.k_norm, eps, final.k, layer.inverse_rms_k_T);
  CopyRows(raw.v, final.v);
  if (config.clip_qkv) {
    const float bound = static_cast<float>(*config.clip_qkv);
    kernels::Clamp(layer.rows() * layer.qkv_TC.width, -bound, bound, layer.qkv_TC.data);
  }
  kernels::Rotate(rotary, position_T, final.q);
  kernels::Rotate(rotary, position_T, final.k);
}

void MixAndRoute(const DecoderConfig& config, const LayerWeights& weights, const LayerRows& layer, const Team& team) {
  TeamProduct(team, layer.attended_TD, weights.o, layer.middle_TD);
  AddAdapter(weights.adapters.o, layer.attended_TD, {layer.dropout_T}, layer.middle_TD);
  kernels::Add(layer.rows() * config.hidden_size, layer.x_TD.data, layer.middle_TD.data, layer.middle_TD.data);

  kernels::RmsNorm(layer.middle_TD, weights.post_norm, static_cast<float>(config.rms_norm_eps), layer.post_normed_TD,
                   layer.inverse_rms_post_T);
  kernels::Product(layer.post_normed_TD, weights.router, layer.router_logits_TE);
  kernels::RouterForward(RouterOf(config, layer.rows()), layer.router_logits_TE.data, layer.probability_TE.data,
                         layer.expert_TK, layer.weight_TK);
}

void RunExperts(const DecoderConfig& config, const LayerWeights& weights, const LayerRows& layer,
                const kernels::Rows& x_next_TD) {
  kernels::PlanExperts(layer.rows(), config.num_experts, config.num_experts_per_tok, layer.expert_TK, layer.plan);
  const ExpertAdapters adapters(weights.adapters, *layer.plan, layer.experts, layer.dropout_T);
  kernels::ExpertsForward(ExpertsOf(weights, layer, &adapters), layer.post_normed_TD, layer.mixed_TD);
  kernels::Add(layer.rows() * config.hidden_size, layer.middle_TD.data, layer.mixed_TD.data, x_next_TD.data);
}

}  // namespace reprise::models
