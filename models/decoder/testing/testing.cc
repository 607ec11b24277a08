#include "models/decoder/testing/testing.h"

#include <algorithm>

#include "absl/types/span.h"
#include "core/random/draw.h"
#include "core/status/check.h"

namespace reprise::models::testing {

DecoderConfig SmallConfig() {
  DecoderConfig config;
  config.vocab_size = 37;
  config.hidden_size = 24;
  config.intermediate_size = 20;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.num_experts = 5;
  config.num_experts_per_tok = 2;
  config.max_position_embeddings = 96;
  config.initializer_range = 0.3;
  return config;
}

std::vector<float> RandomBase(DecoderConfig config, uint64_t seed) {
  config.lora = {};
  const DecoderLayout layout = MakeDecoderLayout(config);
  std::vector<float> flat(static_cast<size_t>(layout.total));
  InitializeParameters(config, layout, seed, absl::MakeSpan(flat));
  for (size_t i = 0; i < layout.specs.size(); ++i) {
    const ParameterSpec& spec = layout.specs[i];
    if (spec.shape.size() != 1) continue;
    for (int64_t j = 0; j < spec.size; ++j) {
      const double u = DrawUniform(seed, Purpose::kTest, {.step = i, .token = static_cast<uint64_t>(j)});
      flat[spec.offset + j] = static_cast<float>(0.7 + 0.6 * u);
    }
  }
  return flat;
}

namespace {

// Initial adapters add nothing, because B is 0; these do.
void FillAdapters(uint64_t seed, Model& model) {
  InitializeParameters(model.config(), model.layout(), seed, model.mutable_parameters());
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const double u = DrawUniform(seed, Purpose::kTest, {.sample = 1, .token = i});
    model.mutable_parameters()[i] += static_cast<float>(0.4 * (u - 0.5));
  }
}

}  // namespace

std::unique_ptr<Model> RandomModel(const DecoderConfig& config, uint64_t seed) {
  std::unique_ptr<Model> model = Model::Create(config, /*training=*/true);
  const std::vector<float> base = RandomBase(config, seed);
  ThreadPool pool(1);
  if (config.lora.is_on()) {
    const DecoderLayout layout = MakeBaseLayout(config);
    const absl::Status loaded = model->LoadBase(pool, [&](int spec, absl::Span<float> values) {
      const ParameterSpec& tensor = layout.specs[spec];
      std::copy_n(base.begin() + tensor.offset, tensor.size, values.begin());
      return absl::OkStatus();
    });
    CHECK(loaded.ok());
    FillAdapters(seed, *model);
  } else {
    std::copy(base.begin(), base.end(), model->mutable_parameters().begin());
  }
  model->Refresh(pool);
  return model;
}

PackedBatch SequenceBatch(const std::vector<int32_t>& tokens) {
  PackedBatch batch;
  batch.token_T = tokens;
  for (size_t i = 0; i < tokens.size(); ++i) batch.position_T.push_back(static_cast<int32_t>(i));
  batch.segments.push_back({0, static_cast<int64_t>(tokens.size()), kNoPrefix});
  return batch;
}

std::vector<int32_t> RandomTokens(const DecoderConfig& config, uint64_t seed, int64_t count) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t token = DrawBelow(seed, Purpose::kTest, {.prompt = 1, .token = static_cast<uint64_t>(i)},
                                     static_cast<uint64_t>(config.vocab_size - 3));
    tokens.push_back(static_cast<int32_t>(token) + 3);
  }
  return tokens;
}

}  // namespace reprise::models::testing
