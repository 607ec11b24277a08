#include "core/status/check.h"
#include "kernels/rows/elementwise.h"
#include "kernels/rows/rms_norm.h"
#include "models/decoder/attention.h"
#include "models/decoder/decoder.h"
#include "models/decoder/team_layer.h"

namespace reprise::models {
namespace {

void CheckBatch(const DecoderConfig& config, const PackedBatch& batch, const Activations* outside) {
  int64_t row = 0;
  for (const Segment& segment : batch.segments) {
    CHECK_EQ(segment.begin, row);
    CHECK(segment.prefix != kOutsidePrefix || outside != nullptr);
    CHECK_LT(segment.prefix, static_cast<int64_t>(batch.segments.size()));
    if (segment.prefix_rows != kWholePrefix) {
      CHECK(segment.prefix != kNoPrefix);
      const bool is_outside = segment.prefix == kOutsidePrefix;
      const PackedBatch& of = is_outside ? outside->batch() : batch;
      const int64_t rows = of.segments[is_outside ? 0 : static_cast<size_t>(segment.prefix)].rows;
      CHECK(segment.prefix_rows >= 0 && segment.prefix_rows <= rows);
    }
    row += segment.rows;
  }
  CHECK_EQ(row, batch.rows());
  CHECK_EQ(batch.position_T.size(), batch.token_T.size());
  for (int64_t i = 0; i < batch.rows(); ++i) {
    const size_t at = static_cast<size_t>(i);
    CHECK(batch.token_T[at] >= 0 && batch.token_T[at] < config.vocab_size);
    CHECK(batch.position_T[at] >= 0 && batch.position_T[at] < config.max_position_embeddings);
  }
}

}  // namespace

void ComputeLayer(const Decoder& decoder, int64_t index, const Activations* outside, Activations* activations,
                  const Team& team) {
  CHECK(outside == nullptr || !outside->recompute());
  const DecoderConfig& config = decoder.config;
  const LayerRows& layer = activations->layer(index);
  const LayerWeights& weights = decoder.weights.layers()[index];
  const TeamLayer shared(config, decoder.rotary, layer.rows(), activations->batch().position_T.data(), team);
  shared.Project(weights, layer);
  AttendForward(*activations, outside, index, team);
  if (layer.statistics_HT2 != nullptr) activations->NoteLargestLogits(index);
  shared.Mix(weights, layer);
  shared.Experts(weights, layer, activations->x_after(index));
}

void Forward(const Decoder& decoder, const PackedBatch& batch, const Activations* outside, Activations* activations,
             const Team& team) {
  const DecoderConfig& config = decoder.config;
  CheckBatch(config, batch, outside);
  activations->Prepare(batch);
  decoder.weights.Embed(batch.token_T.data(), activations->layer(0).x_TD);
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) ComputeLayer(decoder, i, outside, activations, team);
  kernels::RmsNorm(activations->x_after(config.num_hidden_layers - 1), decoder.weights.final_norm(),
                   static_cast<float>(config.rms_norm_eps), activations->hidden_TD(),
                   activations->final_inverse_rms_T());
}

}  // namespace reprise::models
