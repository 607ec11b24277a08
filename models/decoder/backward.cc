#include <algorithm>
#include <initializer_list>
#include <vector>

#include "core/parallel/activity.h"
#include "core/tensor/room.h"
#include "kernels/embedding/embedding.h"
#include "kernels/products/products.h"
#include "kernels/router/router.h"
#include "kernels/rows/elementwise.h"
#include "kernels/rows/rms_norm.h"
#include "models/decoder/attention.h"
#include "models/decoder/decoder.h"
#include "models/decoder/room.h"
#include "models/decoder/team_kernels.h"
#include "models/lora/expert_adapters.h"

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
        auxiliary_E_(auxiliary_E),
        activations_(*activations),
        outside_(outside),
        rows_(activations->rows()),
        dx_TD_{dx_TD, rows_, config_.hidden_size},
        target_(target),
        team_(team),
        work_(workspace) {}

  void Run() {
    const int64_t layers = config_.num_hidden_layers;
    const kernels::Rows dnormed = RoomForRows(work_.da_TD, rows_, config_.hidden_size);
    CopyRows(dx_TD_, dnormed);
    NormBackward(layout_.final_norm, activations_.x_after(layers - 1), decoder_.weights.final_norm(),
                 activations_.final_inverse_rms_T(), dnormed, /*accumulate=*/false, dx_TD_);
    target_.Finish(layout_.final_norm);
    for (int64_t i = layers; i-- > 0;) {
      if (activations_.recompute() && i + 1 < layers) ComputeLayer(decoder_, i, outside_, &activations_, team_);
      MixtureBackward(i);
      FinishMixture(i);
      AttentionBackward(i);
      FinishAttention(i);
      MarkActivity();
    }
    EmbeddingBackward();
    target_.gradient->rows += rows_;
  }

 private:
  const ParameterSpec& Spec(int index) const { return layout_.specs[index]; }
  const LayerWeights& Weights(int64_t index) const { return decoder_.weights.layers()[index]; }

  void FinishMixture(int64_t index) {
    const LayerParameters& p = layout_.layers[index];
    for (size_t e = p.down_E.size(); e-- > 0;) {
      for (int spec : {p.down_E[e], p.up_E[e], p.gate_E[e]}) target_.Finish(spec);
      if (!HasAdapters()) continue;
      const LayerAdapterParameters& adapters = AdapterSpecs(index);
      FinishAdapters({adapters.down_E[e], adapters.up_E[e], adapters.gate_E[e]});
    }
    target_.Finish(p.router);
    target_.Finish(p.post_norm);
  }

  void FinishAttention(int64_t index) {
    const LayerParameters& p = layout_.layers[index];
    for (int spec : {p.k_norm, p.q_norm, p.o, p.v, p.k, p.q, p.input_norm}) target_.Finish(spec);
    if (!HasAdapters()) return;
    const LayerAdapterParameters& adapters = AdapterSpecs(index);
    FinishAdapters({adapters.o, adapters.v, adapters.k, adapters.q});
  }

  bool HasAdapters() const { return !layout_.adapters.empty(); }
  const LayerAdapterParameters& AdapterSpecs(int64_t index) const { return layout_.adapters[index]; }

  void FinishAdapters(std::initializer_list<AdapterParameters> adapters) {
    for (const AdapterParameters& adapter : adapters) {
      target_.Finish(adapter.b);
      target_.Finish(adapter.a);
    }
  }

  AdapterGradient GradientOf(const AdapterParameters& adapter, int64_t first_row) const {
    return {target_.ChainsOf(layout_, adapter.a, first_row), target_.ChainsOf(layout_, adapter.b, first_row)};
  }

  void EmbeddingBackward() {
    const int trained = layout_.trained_embedding();
    if (trained < 0) return;  // frozen
    const ParameterSpec& embedding = Spec(trained);
    float* const total = target_.gradient->TotalOf(embedding);
    float* const sum = config_.tie_word_embeddings ? target_.gradient->tied_embedding.data() : total;
    if (layout_.embedding < 0) {
      NewRowsBackward(sum);
    } else {
      kernels::EmbedBackward(activations_.batch().token_T.data(), dx_TD_, config_.pad_token_id, sum);
    }
    if (config_.tie_word_embeddings && target_.last) kernels::Add(embedding.size, total, sum, total);
    target_.Finish(trained);
  }

  // The same sums, of the new rows alone.
  void NewRowsBackward(float* gradient) {
    const int64_t width = config_.hidden_size, first = config_.first_new_row();
    for (int64_t t = 0; t < rows_; ++t) {
      const int64_t token = activations_.batch().token_T[t];
      if (token < first || token == config_.pad_token_id) continue;
      float* const row = gradient + (token - first) * width;
      kernels::Add(width, row, dx_TD_[t], row);
    }
  }

  // Computes dW of spec [n, k] from dy [rows, n] and x [rows, k].
  void WeightGradient(int spec, const kernels::ConstRows& dy, const kernels::ConstRows& x) {
    TeamWeightGradient(team_, dy, x, target_.ChainsOf(layout_, spec, target_.gradient->rows));
  }

  void NormBackward(int spec, const kernels::ConstRows& x, const float* gain, const float* inverse_rms,
                    const kernels::ConstRows& dy, bool accumulate, const kernels::Rows& dx) {
    TeamRmsNormBackward(team_, x, gain, inverse_rms, dy, accumulate, dx,
                        target_.ChainsOf(layout_, spec, target_.gradient->rows));
  }

  // Continues the gradients of an attention matrix's adapter, and adds to dx.
  void BackwardOfAdapter(const Adapter& adapter, const AdapterParameters& parameters, const LayerRows& layer,
                         const kernels::ConstRows& x, const kernels::ConstRows& dy, const kernels::Rows& dx) {
    AdapterBackward(adapter, x, {layer.dropout_T}, dy, GradientOf(parameters, target_.gradient->rows), dx, team_);
  }

  // Computes the gradients of the experts of a layer; returns dpost_TD.
  kernels::Rows ExpertsBackward(int64_t index, float* dweight_TK) {
    const LayerRows& layer = activations_.layer(index);
    const LayerParameters& p = layout_.layers[index];
    int64_t* const expert_rows = target_.gradient->expert_rows_LE.data() + index * config_.num_experts;
    std::vector<kernels::ExpertGradients> gradients_E;
    ExpertAdapterGradients adapter_gradients;
    for (size_t e = 0; e < p.gate_E.size(); ++e) {
      const auto chains_of = [&](int spec) { return target_.ChainsOf(layout_, spec, expert_rows[e]); };
      gradients_E.push_back({chains_of(p.gate_E[e]), chains_of(p.up_E[e]), chains_of(p.down_E[e])});
      if (!HasAdapters()) continue;
      const LayerAdapterParameters& adapters = AdapterSpecs(index);
      adapter_gradients.gate_E.push_back(GradientOf(adapters.gate_E[e], expert_rows[e]));
      adapter_gradients.up_E.push_back(GradientOf(adapters.up_E[e], expert_rows[e]));
      adapter_gradients.down_E.push_back(GradientOf(adapters.down_E[e], expert_rows[e]));
    }
    const ExpertAdapters adapters(Weights(index).adapters, *layer.plan, layer.experts, layer.dropout_T,
                                  &adapter_gradients);
    const kernels::Rows dpost_TD = RoomForRows(work_.da_TD, rows_, config_.hidden_size);
    TeamExpertsBackward(team_, ExpertsOf(Weights(index), layer, &adapters), dx_TD_, gradients_E.data(), dpost_TD,
                        dweight_TK, &work_.experts);
    for (int64_t e = 0; e < config_.num_experts; ++e) expert_rows[e] += layer.plan->RowsOf(e).size();
    return dpost_TD;
  }

  // Calls visit(range, auxiliary gradient, null if there is none) for the rows begin to end - 1: for all at once unless
  // segments stand for several sequences.
  template <typename Visit>
  void VisitCopies(int64_t begin, int64_t end, const Visit& visit) const {
    const std::vector<Segment>& segments = activations_.batch().segments;
    const bool has_copies =
        std::any_of(segments.begin(), segments.end(), [](const Segment& segment) { return segment.copies != 1; });
    if (auxiliary_E_.empty() || !has_copies) {
      visit(kernels::Range{begin, end}, auxiliary_E_.empty() ? nullptr : auxiliary_E_.data());
      return;
    }
    std::vector<float> of_segment_E(auxiliary_E_.size());
    for (const Segment& segment : segments) {
      const kernels::Range range = {std::max(begin, segment.begin), std::min(end, segment.begin + segment.rows)};
      if (range.begin >= range.end) continue;
      for (size_t e = 0; e < of_segment_E.size(); ++e) {
        of_segment_E[e] = auxiliary_E_[e] * static_cast<float>(segment.copies);
      }
      visit(range, of_segment_E.data());
    }
  }

  // The experts' and router's half of a layer: converts dx_TD from the gradient after the layer to that before the post
  // norm.
  void MixtureBackward(int64_t index) {
    const LayerRows& layer = activations_.layer(index);
    const LayerWeights& weights = Weights(index);
    const LayerParameters& p = layout_.layers[index];
    const int64_t per_token = config_.num_experts_per_tok;
    float* const dweight_TK = Room(work_.dweight_TK, rows_ * per_token);
    const kernels::Rows dpost_TD = ExpertsBackward(index, dweight_TK);

    const kernels::Rows dlogits_TE = RoomForRows(work_.dlogits_TE, rows_, config_.num_experts);
    TeamRows(team_, rows_, [&](int64_t begin, int64_t end) {
      VisitCopies(begin, end, [&](const kernels::Range& range, const float* auxiliary_E) {
        const int64_t slot = range.begin * per_token;
        kernels::RouterBackward(RouterOf(config_, range.size()), layer.probability_TE[range.begin],
                                layer.expert_TK + slot, layer.weight_TK + slot, dweight_TK + slot, auxiliary_E,
                                dlogits_TE[range.begin]);
      });
    });
    WeightGradient(p.router, dlogits_TE, layer.post_normed_TD);
    const kernels::Rows drouter_TD = RoomForRows(work_.db_TD, rows_, config_.hidden_size);
    TeamRows(team_, rows_, [&](int64_t begin, int64_t end) {
      const kernels::Range range = {begin, end};
      kernels::Product(dlogits_TE.Slice(range), weights.router_transposed, drouter_TD.Slice(range));
      kernels::Add(range.size() * config_.hidden_size, dpost_TD[begin], drouter_TD[begin], dpost_TD[begin]);
    });
    NormBackward(p.post_norm, layer.middle_TD, weights.post_norm, layer.inverse_rms_post_T, dpost_TD,
                 /*accumulate=*/true, dx_TD_);
  }

  // The attention half: converts dx_TD to the gradient before the layer.
  void AttentionBackward(int64_t index) {
    const LayerRows& layer = activations_.layer(index);
    const LayerWeights& weights = Weights(index);
    const LayerParameters& p = layout_.layers[index];
    const int64_t width = config_.hidden_size, columns = layer.raw_TC.width;

    WeightGradient(p.o, dx_TD_, layer.attended_TD);
    const kernels::Rows dattended_TD = RoomForRows(work_.da_TD, rows_, width);
    TeamProductOfRows(team_, dx_TD_, weights.o_transposed, dattended_TD);
    if (HasAdapters()) {
      BackwardOfAdapter(weights.adapters.o, AdapterSpecs(index).o, layer, layer.attended_TD, dx_TD_, dattended_TD);
    }

    const kernels::Rows dqkv_TC = RoomForRows(work_.dqkv_TC, rows_, columns);
    AttendBackward(activations_, outside_, index, dattended_TD, dqkv_TC, team_);
    TeamRows(team_, rows_, [&](int64_t begin, int64_t end) { RotatedBackward(index, {begin, end}, dqkv_TC); });

    const kernels::Rows draw_TC = RoomForRows(work_.draw_TC, rows_, columns);
    const Projections raw(config_, layer.raw_TC), dqkv(config_, dqkv_TC), draw(config_, draw_TC);
    NormBackward(p.q_norm, raw.q, weights.q_norm, layer.inverse_rms_q_T, dqkv.q, /*accumulate=*/false, draw.q);
    NormBackward(p.k_norm, raw.k, weights.k_norm, layer.inverse_rms_k_T, dqkv.k, /*accumulate=*/false, draw.k);
    CopyRows(dqkv.v, draw.v);
    WeightGradient(p.q, draw.q, layer.normed_TD);
    WeightGradient(p.k, draw.k, layer.normed_TD);
    WeightGradient(p.v, draw.v, layer.normed_TD);
    const kernels::Rows dnormed_TD = RoomForRows(work_.da_TD, rows_, width);
    TeamProductOfRows(team_, draw_TC, weights.qkv_transposed, dnormed_TD);
    if (HasAdapters()) {
      const LayerAdapterParameters& adapters = AdapterSpecs(index);
      BackwardOfAdapter(weights.adapters.q, adapters.q, layer, layer.normed_TD, draw.q, dnormed_TD);
      BackwardOfAdapter(weights.adapters.k, adapters.k, layer, layer.normed_TD, draw.k, dnormed_TD);
      BackwardOfAdapter(weights.adapters.v, adapters.v, layer, layer.normed_TD, draw.v, dnormed_TD);
    }
    NormBackward(p.input_norm, layer.x_TD, weights.input_norm, layer.inverse_rms_T, dnormed_TD, /*accumulate=*/true,
                 dx_TD_);
  }

  // Computes some rows of dqkv_TC: converts the gradients of rotated queries in it, and the activations' gradients of
  // keys and values, to the gradients before the rotation.
  void RotatedBackward(int64_t index, const kernels::Range& range, const kernels::Rows& dqkv_TC) {
    const Projections dqkv(config_, dqkv_TC.Slice(range));
    const kernels::KeyGradients& gradients = activations_.key_gradients(index);
    CopyRows(gradients.dk.Slice(range), dqkv.k);
    CopyRows(gradients.dv.Slice(range), dqkv.v);
    const int32_t* const positions = activations_.batch().position_T.data() + range.begin;
    kernels::RotateBackward(decoder_.rotary, positions, dqkv.q);
    kernels::RotateBackward(decoder_.rotary, positions, dqkv.k);
    if (config_.clip_qkv) ClipBackward(index, range, dqkv_TC);
  }

  // Gradients pass where the values before clipping were within the bounds; those values are recomputed.
  void ClipBackward(int64_t index, const kernels::Range& range, const kernels::Rows& dqkv_TC) {
    const float bound = static_cast<float>(*config_.clip_qkv), eps = static_cast<float>(config_.rms_norm_eps);
    std::vector<float> floats(static_cast<size_t>(dqkv_TC.width));
    const kernels::Rows before_1C = {floats.data(), 1, dqkv_TC.width};
    const Projections before(config_, before_1C);
    for (int64_t row = range.begin; row < range.end; ++row) {
      const Projections raw(config_, activations_.layer(index).raw_TC.Slice({row, row + 1}));
      kernels::RmsNorm(raw.q, Weights(index).q_norm, eps, before.q, nullptr);
      kernels::RmsNorm(raw.k, Weights(index).k_norm, eps, before.k, nullptr);
      CopyRows(raw.v, before.v);
      kernels::ClampBackward(dqkv_TC.width, -bound, bound, before_1C.data, dqkv_TC[row]);
    }
  }

  const Decoder& decoder_;
  const DecoderConfig& config_;
  const DecoderLayout& layout_;
  const AuxiliaryGradient& auxiliary_E_;
  Activations& activations_;
  Activations* const outside_;
  const int64_t rows_;
  const kernels::Rows dx_TD_;
  const GradientTarget& target_;
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
