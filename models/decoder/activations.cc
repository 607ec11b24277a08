#include "models/decoder/activations.h"

#include <algorithm>
#include <limits>

#include "core/tensor/room.h"
#include "kernels/math/scalar_math.h"

namespace reprise::models {
namespace {

// Hands out consecutive parts of an array; with a null base it only counts floats.
class Carver {
 public:
  explicit Carver(float* base) : base_(base) {}
  float* Take(int64_t floats) {
    float* const part = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (floats + 15) / 16 * 16;  // 64 bytes
    return part;
  }
  kernels::Rows TakeRows(int64_t rows, int64_t width) { return {Take(rows * width), rows, width}; }
  int64_t used() const { return used_; }

 private:
  float* const base_;
  int64_t used_ = 0;
};

void CarveLayer(const DecoderConfig& c, bool training, int64_t rows, Carver& carver, LayerRows& layer) {
  const int64_t width = c.hidden_size, columns = width + 2 * c.key_value_width();
  const int64_t dispatched = rows * c.num_experts_per_tok;
  layer.inverse_rms_T = carver.Take(rows);
  layer.normed_TD = carver.TakeRows(rows, width);
  layer.raw_TC = carver.TakeRows(rows, columns);
  layer.qkv_TC = carver.TakeRows(rows, columns);
  layer.inverse_rms_q_T = carver.Take(rows);
  layer.inverse_rms_k_T = carver.Take(rows);
  layer.statistics_HT2 = training ? carver.Take(c.num_attention_heads * rows * 2) : nullptr;
  layer.attended_TD = carver.TakeRows(rows, width);
  layer.middle_TD = carver.TakeRows(rows, width);
  layer.inverse_rms_post_T = carver.Take(rows);
  layer.post_normed_TD = carver.TakeRows(rows, width);
  layer.router_logits_TE = carver.TakeRows(rows, c.num_experts);
  layer.probability_TE = carver.TakeRows(rows, c.num_experts);
  layer.weight_TK = carver.Take(dispatched);
  layer.experts.x_RD = carver.TakeRows(dispatched, width);
  layer.experts.gate_up_R2F = carver.TakeRows(dispatched, 2 * c.intermediate_size);
  layer.experts.hidden_RF = carver.TakeRows(dispatched, c.intermediate_size);
  layer.experts.out_RD = carver.TakeRows(dispatched, width);
  layer.mixed_TD = carver.TakeRows(rows, width);
}

}  // namespace

Activations::Activations(const DecoderConfig& config, bool training, bool recompute)
    : config_(config), training_(training), recompute_(recompute) {
  layers_.resize(static_cast<size_t>(config.num_hidden_layers));
  plans_.resize(training && !recompute ? layers_.size() : 1);
  gradients_.resize(layers_.size());
}

const kernels::Rows& Activations::x_after(int64_t index) const {
  return index + 1 < config_.num_hidden_layers ? layers_[index + 1].x_TD : last_x_TD_;
}

int64_t Activations::bytes() const {
  return static_cast<int64_t>(static_cast<size_t>(floats_.size()) * sizeof(float) + experts_.size() * sizeof(int32_t));
}

int64_t Activations::FloatsPerRow(const DecoderConfig& config, bool training, bool recompute) {
  constexpr int64_t kRows = 1024;
  LayerRows layer;
  Carver carver(nullptr);
  CarveLayer(config, training, kRows, carver, layer);
  const int64_t sets = training && !recompute ? config.num_hidden_layers : 1;
  const int64_t routing = recompute ? (config.num_hidden_layers - 1) * config.num_experts : 0;
  const int64_t gradients = training ? 2 * config.num_hidden_layers * config.key_value_width() : 0;
  return carver.used() / kRows * sets + (config.num_hidden_layers + 2) * config.hidden_size + gradients + routing + 1;
}

void Activations::NoteLargestLogits(int64_t index) {
  const int64_t heads = config_.num_attention_heads, rows = batch_.rows();
  const float scale = static_cast<float>(1.0 / kernels::Sqrt(static_cast<double>(config_.head_width())));
  const float* statistics_T2 = layer(index).statistics_HT2;
  for (int64_t head = 0; head < heads; ++head, statistics_T2 += 2 * rows) {
    float largest = -std::numeric_limits<float>::infinity();
    for (int64_t t = 0; t < rows; ++t) largest = std::max(largest, statistics_T2[2 * t]);
    largest_logit_LH_[index * heads + head] = largest * scale;
  }
}

void Activations::Prepare(const PackedBatch& batch) {
  batch_ = batch;
  const int64_t rows = batch.rows(), width = config_.hidden_size, keys = config_.key_value_width();
  const size_t sets = plans_.size(), per_token = static_cast<size_t>(config_.num_experts_per_tok);
  const size_t routings = recompute_ ? layers_.size() : sets, choices = static_cast<size_t>(rows) * per_token;
  experts_.resize(std::max(experts_.size(), routings * choices));
  const auto carve = [&](Carver& carver) {
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (i < sets) {
        CarveLayer(config_, training_, rows, carver, layers_[i]);
        layers_[i].expert_TK = experts_.data() + i * choices;
        layers_[i].plan = &plans_[i];
      } else {
        layers_[i] = layers_[0];
        if (recompute_) {
          layers_[i].expert_TK = experts_.data() + i * choices;
          layers_[i].probability_TE = carver.TakeRows(rows, config_.num_experts);
        }
      }
      layers_[i].x_TD = carver.TakeRows(rows, width);
      if (training_) gradients_[i] = {carver.TakeRows(rows, keys), carver.TakeRows(rows, keys)};
    }
    last_x_TD_ = carver.TakeRows(rows, width);
    final_inverse_rms_T_ = carver.Take(rows);
    hidden_TD_ = carver.TakeRows(rows, width);
  };
  Carver counter(nullptr);
  carve(counter);
  Carver carver(Room(floats_, counter.used()));
  carve(carver);
  for (LayerRows& layer : layers_) layer.dropout_T = batch_.dropout_T.empty() ? nullptr : batch_.dropout_T.data();
  if (!training_) return;
  largest_logit_LH_.assign(layers_.size() * static_cast<size_t>(config_.num_attention_heads),
                           -std::numeric_limits<float>::infinity());
  for (const kernels::KeyGradients& gradients : gradients_) {
    std::fill_n(gradients.dk.data, rows * keys, 0.0f);
    std::fill_n(gradients.dv.data, rows * keys, 0.0f);
  }
}

}  // namespace reprise::models
