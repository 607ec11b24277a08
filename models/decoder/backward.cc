#include <cstring>

#include "kernels/embedding/embedding.h"
#include "kernels/products/products.h"
#include "kernels/router/router.h"
#include "kernels/rows/elementwise.h"
#include "kernels/rows/rms_norm.h"
#include "models/decoder/attention.h"
#include "models/decoder/decoder.h"
#include "models/decoder/room.h"
#include "models/decoder/team_kernels.h"

namespace reprise::models {
namespace {

// Buffers of the pass, reused by all layers and calls of a thread.
struct Workspace {
  Tensor da_TD, db_TD, dlogits_TE, dweight_TK, dqkv_TC, draw_TC, experts;
};

// One backward pass over one batch: the data that every stage uses.
class Pass {
 public:
  Pass(const Decoder& decoder, const AuxiliaryGradient& auxiliary_E, Activations* activations, Activations* outside,
       float* dx_TD, const GradientTarget& target, const Team& team, Workspace& workspace)
      : decoder_(decoder),
        config_(decoder.config),
        layout_(decoder.layout),
        weights_(decoder.weights),
        rotary_(decoder.rotary),
        auxiliary_E_(auxiliary_E),
        activations_(*activations),
        outside_(outside),
        rows_(activations->rows()),
        dx_TD_(dx_TD),
        last_(target.last),
        gradient_(*target.gradient),
        sink_(target.sink),
        team_(team),
        work_(workspace) {}

  void Run() {
    const int64_t layers = config_.num_hidden_layers, width = config_.hidden_size;
    float* const dnormed = Room(work_.da_TD, rows_ * width);
    if (rows_ > 0) std::memcpy(dnormed, dx_TD_, static_cast<size_t>(rows_ * width) * sizeof(float));
    NormBackward(layout_.final_norm, width, activations_.x_after(layers - 1), width, weights_.final_norm(),
                 activations_.final_inverse_rms_T(), dnormed, width, /*accumulate=*/false, dx_TD_, width);
    Finish(layout_.final_norm);
    for (int64_t i = layers; i-- > 0;) {
      if (activations_.recompute() && i + 1 < layers) ComputeLayer(decoder_, i, outside_, &activations_, team_);
      MixtureBackward(i);
      FinishMixture(i);
      AttentionBackward(i);
      FinishAttention(i);
    }
    EmbeddingBackward();
    gradient_.rows += rows_;
  }

 private:
  const ParameterSpec& Spec(int index) const { return layout_.specs[static_cast<size_t>(index)]; }

  void Finish(int spec) {
    if (last_ && sink_ != nullptr) sink_->Finished(spec, gradient_);
  }

  void FinishMixture(int64_t index) {
    const LayerParameters& p = layout_.layers[static_cast<size_t>(index)];
    for (size_t e = p.down_E.size(); e-- > 0;) Finish(p.down_E[e]), Finish(p.up_E[e]), Finish(p.gate_E[e]);
    Finish(p.router);
    Finish(p.post_norm);
  }

  void FinishAttention(int64_t index) {
    const LayerParameters& p = layout_.layers[static_cast<size_t>(index)];
    for (int spec : {p.k_norm, p.q_norm, p.o, p.v, p.k, p.q, p.input_norm}) Finish(spec);
  }

  void EmbeddingBackward() {
    const ParameterSpec& embedding = Spec(layout_.embedding);
    float* const total = gradient_.TotalOf(embedding);
    float* const sum = config_.tie_word_embeddings ? gradient_.tied_embedding.data() : total;
    kernels::EmbedBackward(rows_, config_.hidden_size, activations_.batch().token_T.data(), dx_TD_, config_.hidden_size,
                           config_.pad_token_id, sum);
    if (config_.tie_word_embeddings && last_) kernels::Add(embedding.size, total, sum, total);
    Finish(layout_.embedding);
  }

  // Computes dW of spec [n, k] from dy [rows, n] and x [rows, k].
  void WeightGradient(int spec, const float* dy, int64_t lddy, const float* x, int64_t ldx) {
    const ParameterSpec& s = Spec(spec);
    TeamWeightGradient(team_, rows_, s.shape[0], s.shape[1], dy, lddy, x, ldx, gradient_.rows, last_,
                       gradient_.TotalOf(s), gradient_.OpenOf(s));
  }

  void NormBackward(int spec, int64_t n, const float* x, int64_t ldx, const float* gain, const float* inverse_rms,
                    const float* dy, int64_t lddy, bool accumulate, float* dx, int64_t lddx) {
    const ParameterSpec& s = Spec(spec);
    TeamRmsNormBackward(team_, rows_, n, x, ldx, gain, inverse_rms, dy, lddy, accumulate, dx, lddx, gradient_.rows,
                        last_, gradient_.TotalOf(s), gradient_.OpenOf(s));
  }

  // The experts' and router's half of a layer: converts dx_TD from the gradient after the layer to that before the post
  // norm.
  void MixtureBackward(int64_t index) {
    const LayerRows& layer = activations_.layer(index);
    const LayerWeights& weights = weights_.layers()[static_cast<size_t>(index)];
    const LayerParameters& p = layout_.layers[static_cast<size_t>(index)];
    const int64_t width = config_.hidden_size, experts = config_.num_experts;
    const int64_t per_token = config_.num_experts_per_tok, dispatched = rows_ * per_token;

    std::vector<kernels::ExpertGradients> gradients_E(static_cast<size_t>(experts));
    int64_t* const expert_rows = gradient_.expert_rows_LE.data() + index * experts;
    for (size_t e = 0; e < gradients_E.size(); ++e) {
      const ParameterSpec &gate = Spec(p.gate_E[e]), &up = Spec(p.up_E[e]), &down = Spec(p.down_E[e]);
      gradients_E[e] = {gradient_.TotalOf(gate), gradient_.TotalOf(up), gradient_.TotalOf(down),
                        gradient_.OpenOf(gate),  gradient_.OpenOf(up),  gradient_.OpenOf(down),
                        expert_rows[e]};
    }
    float* const dpost_TD = Room(work_.da_TD, rows_ * width);
    float* const dweight_TK = Room(work_.dweight_TK, dispatched);
    TeamExpertsBackward(team_, rows_, width, config_.intermediate_size, *layer.plan, per_token, weights.expert_E.data(),
                        layer.weight_TK, layer.experts, dx_TD_, width, last_, gradients_E.data(), dpost_TD, width,
                        dweight_TK, &work_.experts);
    for (size_t e = 0; e < gradients_E.size(); ++e) expert_rows[e] = gradients_E[e].rows;

    float* const dlogits_TE = Room(work_.dlogits_TE, rows_ * experts);
    TeamRows(team_, rows_, [&](int64_t begin, int64_t end) {
      kernels::RouterBackward(end - begin, experts, per_token, config_.norm_topk_prob,
                              layer.probability_TE + begin * experts, layer.expert_TK + begin * per_token,
                              layer.weight_TK + begin * per_token, dweight_TK + begin * per_token,
                              auxiliary_E_.empty() ? nullptr : auxiliary_E_.data(), dlogits_TE + begin * experts);
    });
    WeightGradient(p.router, dlogits_TE, experts, layer.post_normed_TD, width);
    float* const drouter_TD = Room(work_.db_TD, rows_ * width);
    TeamRows(team_, rows_, [&](int64_t begin, int64_t end) {
      const int64_t at = begin * width, count = (end - begin) * width;
      kernels::Product(end - begin, width, experts, dlogits_TE + begin * experts, experts, weights.router_transposed,
                       drouter_TD + at, width);
      kernels::Add(count, dpost_TD + at, drouter_TD + at, dpost_TD + at);
    });
    NormBackward(p.post_norm, width, layer.middle_TD, width, weights.post_norm, layer.inverse_rms_post_T, dpost_TD,
                 width, /*accumulate=*/true, dx_TD_, width);
  }

  // The attention half: converts dx_TD to the gradient before the layer.
  void AttentionBackward(int64_t index) {
    const LayerRows& layer = activations_.layer(index);
    const LayerWeights& weights = weights_.layers()[static_cast<size_t>(index)];
    const LayerParameters& p = layout_.layers[static_cast<size_t>(index)];
    const int64_t width = config_.hidden_size, keys = config_.key_value_width(), columns = width + 2 * keys;

    WeightGradient(p.o, dx_TD_, width, layer.attended_TD, width);
    float* const dattended_TD = Room(work_.da_TD, rows_ * width);
    TeamProductOfRows(team_, rows_, width, width, dx_TD_, width, weights.o_transposed, dattended_TD, width);

    float* const dqkv_TC = Room(work_.dqkv_TC, rows_ * columns);
    float *const dkey_TW = activations_.key_gradient(index), *const dvalue_TW = activations_.value_gradient(index);
    AttendBackward(
        config_, activations_.batch(), layer, outside_ == nullptr ? nullptr : &outside_->batch(),
        outside_ == nullptr ? nullptr : &outside_->layer(index),
        {dattended_TD, dqkv_TC, dkey_TW, dvalue_TW, outside_ == nullptr ? nullptr : outside_->key_gradient(index),
         outside_ == nullptr ? nullptr : outside_->value_gradient(index)},
        team_);
    TeamRows(team_, rows_, [&](int64_t begin, int64_t end) {
      RotatedBackward(layer, weights, dkey_TW, dvalue_TW, begin, end, dqkv_TC);
    });

    float* const draw_TC = Room(work_.draw_TC, rows_ * columns);
    NormBackward(p.q_norm, width, layer.raw_TC, columns, weights.q_norm, layer.inverse_rms_q_T, dqkv_TC, columns,
                 /*accumulate=*/false, draw_TC, columns);
    NormBackward(p.k_norm, keys, layer.raw_TC + width, columns, weights.k_norm, layer.inverse_rms_k_T, dqkv_TC + width,
                 columns, /*accumulate=*/false, draw_TC + width, columns);
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t at = row * columns + width + keys;
      std::memcpy(draw_TC + at, dqkv_TC + at, static_cast<size_t>(keys) * sizeof(float));
    }
    WeightGradient(p.q, draw_TC, columns, layer.normed_TD, width);
    WeightGradient(p.k, draw_TC + width, columns, layer.normed_TD, width);
    WeightGradient(p.v, draw_TC + width + keys, columns, layer.normed_TD, width);
    float* const dnormed_TD = Room(work_.da_TD, rows_ * width);
    TeamProductOfRows(team_, rows_, width, columns, draw_TC, columns, weights.qkv_transposed, dnormed_TD, width);
    NormBackward(p.input_norm, width, layer.x_TD, width, weights.input_norm, layer.inverse_rms_T, dnormed_TD, width,
                 /*accumulate=*/true, dx_TD_, width);
  }

  // Computes rows [begin, end) of dqkv_TC: converts the gradients of rotated queries in it, and those of keys and
  // values in dkey_TW and dvalue_TW, to the gradients before the rotation.
  void RotatedBackward(const LayerRows& layer, const LayerWeights& weights, const float* dkey_TW,
                       const float* dvalue_TW, int64_t begin, int64_t end, float* dqkv_TC) {
    const int64_t width = config_.hidden_size, keys = config_.key_value_width(), columns = width + 2 * keys;
    for (int64_t row = begin; row < end; ++row) {
      float* const dqkv = dqkv_TC + row * columns;
      std::memcpy(dqkv + width, dkey_TW + row * keys, static_cast<size_t>(keys) * sizeof(float));
      std::memcpy(dqkv + width + keys, dvalue_TW + row * keys, static_cast<size_t>(keys) * sizeof(float));
    }
    const int32_t* const positions = activations_.batch().position_T.data() + begin;
    float* const first = dqkv_TC + begin * columns;
    kernels::RotateBackward(end - begin, config_.num_attention_heads, rotary_, positions, first, columns);
    kernels::RotateBackward(end - begin, config_.num_key_value_heads, rotary_, positions, first + width, columns);
    if (config_.clip_qkv) ClipBackward(layer, weights, begin, end, dqkv_TC);
  }

  // Gradients pass where the values before clipping were within the bounds; those values are recomputed.
  void ClipBackward(const LayerRows& layer, const LayerWeights& weights, int64_t begin, int64_t end, float* dqkv_TC) {
    const int64_t width = config_.hidden_size, keys = config_.key_value_width(), columns = width + 2 * keys;
    const float bound = static_cast<float>(*config_.clip_qkv), eps = static_cast<float>(config_.rms_norm_eps);
    std::vector<float> before(static_cast<size_t>(columns));
    for (int64_t row = begin; row < end; ++row) {
      const float* const raw = layer.raw_TC + row * columns;
      kernels::RmsNorm(1, width, raw, columns, weights.q_norm, eps, before.data(), columns, nullptr);
      kernels::RmsNorm(1, keys, raw + width, columns, weights.k_norm, eps, before.data() + width, columns, nullptr);
      std::memcpy(before.data() + width + keys, raw + width + keys, static_cast<size_t>(keys) * sizeof(float));
      kernels::ClampBackward(columns, -bound, bound, before.data(), dqkv_TC + row * columns);
    }
  }

  const Decoder& decoder_;
  const DecoderConfig& config_;
  const DecoderLayout& layout_;
  const PackedWeights& weights_;
  const kernels::RotaryTable& rotary_;
  const AuxiliaryGradient& auxiliary_E_;
  Activations& activations_;
  Activations* const outside_;
  const int64_t rows_;
  float* const dx_TD_;
  const bool last_;
  ShardGradient& gradient_;
  GradientSink* const sink_;
  const Team& team_;
  Workspace& work_;
};

}  // namespace

void Backward(const Decoder& decoder, const AuxiliaryGradient& auxiliary_E, Activations* activations,
              Activations* outside, float* dhidden_TD, const GradientTarget& target, const Team& team) {
  thread_local Workspace workspace;
  Pass(decoder, auxiliary_E, activations, outside, dhidden_TD, target, team, workspace).Run();
}

}  // namespace reprise::models
