#include "models/decoder/model.h"

namespace reprise::models {

Model::Model(const DecoderConfig& config, bool training)
    : config_(config),
      layout_(MakeParameterLayout(config)),
      flat_("parameters", DType::kF32, {layout_.total}),
      weights_(config_, layout_, flat_.data<float>().data(), training),
      rotary_(kernels::MakeRotaryTable(config.max_position_embeddings, config.head_width(), config.rope_theta)),
      decoder_{config_, layout_, weights_, rotary_} {}

std::unique_ptr<Model> Model::Create(const DecoderConfig& config, bool training) {
  return std::unique_ptr<Model>(new Model(config, training));
}

TensorView Model::parameter(int spec) const {
  const ParameterSpec& s = layout_.specs[static_cast<size_t>(spec)];
  return {s.name, DType::kF32, s.shape,
          flat_.bytes().subspan(static_cast<size_t>(s.offset) * sizeof(float),
                                static_cast<size_t>(s.size) * sizeof(float))};
}

}  // namespace reprise::models
