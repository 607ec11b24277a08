#include "models/decoder/parameters.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/random/draw.h"
#include "core/status/check.h"
#include "kernels/math/scalar_math.h"

namespace reprise::models {
namespace {

LayerParameters AppendLayer(DecoderLayout& layout, const DecoderConfig& c, int64_t index) {
  const std::string prefix = absl::StrCat("model.layers.", index, ".");
  const auto append = [&](absl::string_view name, Shape shape) {
    const ParameterKind kind = shape.size() == 1 ? ParameterKind::kVector : ParameterKind::kMatrix;
    return layout.Append(absl::StrCat(prefix, name, ".weight"), std::move(shape), kind);
  };
  LayerParameters layer;
  layer.input_norm = append("input_layernorm", {c.hidden_size});
  layer.q = append("self_attn.q_proj", {c.hidden_size, c.hidden_size});
  layer.k = append("self_attn.k_proj", {c.key_value_width(), c.hidden_size});
  layer.v = append("self_attn.v_proj", {c.key_value_width(), c.hidden_size});
  layer.o = append("self_attn.o_proj", {c.hidden_size, c.hidden_size});
  layer.q_norm = append("self_attn.q_norm", {c.hidden_size});
  layer.k_norm = append("self_attn.k_norm", {c.key_value_width()});
  layer.post_norm = append("post_attention_layernorm", {c.hidden_size});
  layer.router = append("mlp.gate", {c.num_experts, c.hidden_size});
  for (int64_t e = 0; e < c.num_experts; ++e) {
    const std::string expert = absl::StrCat("mlp.experts.", e, ".");
    layer.gate_E.push_back(append(absl::StrCat(expert, "gate_proj"), {c.intermediate_size, c.hidden_size}));
    layer.up_E.push_back(append(absl::StrCat(expert, "up_proj"), {c.intermediate_size, c.hidden_size}));
    layer.down_E.push_back(append(absl::StrCat(expert, "down_proj"), {c.hidden_size, c.intermediate_size}));
  }
  return layer;
}

void AppendTrunk(const DecoderConfig& c, DecoderLayout* layout) {
  layout->embedding = layout->Append("model.embed_tokens.weight", {c.vocab_size, c.hidden_size},
                                     ParameterKind::kEmbedding, /*by_rows=*/true);
  for (int64_t i = 0; i < c.num_hidden_layers; ++i) layout->layers.push_back(AppendLayer(*layout, c, i));
  layout->final_norm = layout->Append("model.norm.weight", {c.hidden_size}, ParameterKind::kVector);
}

void AppendValueNetwork(const DecoderConfig& c, DecoderLayout* layout) {
  layout->value.trunk_offset = layout->total;
  layout->value.embedding = static_cast<int>(layout->specs.size());
  for (const ParameterSpec& spec : TrunkLayout(c).specs) {
    layout->Append(absl::StrCat("value_model.", spec.name), spec.shape, spec.kind, spec.by_rows);
  }
}

// Sets the padding token's embedding to 0.
void ZeroPadding(const DecoderConfig& c, const ParameterSpec& embedding, absl::Span<float> flat) {
  if (c.pad_token_id < 0) return;
  float* const row = flat.data() + embedding.offset + c.pad_token_id * c.hidden_size;
  std::fill(row, row + c.hidden_size, 0.0f);
}

DecoderLayout MakePolicyLayout(const DecoderConfig& c) {
  DecoderLayout layout;
  AppendTrunk(c, &layout);
  layout.lm_head = c.tie_word_embeddings ? layout.embedding
                                         : layout.Append("lm_head.weight", {c.vocab_size, c.hidden_size},
                                                         ParameterKind::kHead, /*by_rows=*/true);
  layout.policy_total = layout.total;
  layout.policy_specs = static_cast<int>(layout.specs.size());
  return layout;
}

}  // namespace

DecoderLayout PolicyPart(DecoderLayout layout) {
  layout.specs.resize(static_cast<size_t>(layout.policy_specs));
  layout.total = layout.policy_total;
  layout.value = {};
  return layout;
}

DecoderLayout TrunkLayout(const DecoderConfig& c) {
  DecoderLayout layout;
  AppendTrunk(c, &layout);
  layout.lm_head = -1;
  layout.policy_total = layout.total;
  layout.policy_specs = static_cast<int>(layout.specs.size());
  return layout;
}

DecoderLayout MakeDecoderLayout(const DecoderConfig& c) {
  DecoderLayout layout = MakePolicyLayout(c);
  if (c.value_model == ValueModel::kNone) return layout;
  if (c.value_model == ValueModel::kNetwork) AppendValueNetwork(c, &layout);
  layout.value.weight = layout.Append("v_head.summary.weight", {1, c.hidden_size}, ParameterKind::kHead);
  layout.value.bias = layout.Append("v_head.summary.bias", {1}, ParameterKind::kVector);
  return layout;
}

void InitializeParameters(const DecoderConfig& c, const DecoderLayout& layout, uint64_t seed, absl::Span<float> flat,
                          int first_spec) {
  CHECK_EQ(static_cast<int64_t>(flat.size()), layout.total);
  const size_t first = static_cast<size_t>(first_spec);
  if (first == layout.specs.size()) return;
  std::fill(flat.begin() + layout.specs[first].offset, flat.end(), 0.0f);
  for (size_t index = first; index < layout.specs.size(); ++index) {
    if (static_cast<int>(index) == layout.value.bias) continue;
    const ParameterSpec& spec = layout.specs[index];
    float* const w = flat.data() + spec.offset;
    for (int64_t i = 0; i < spec.size; ++i) {
      if (spec.kind == ParameterKind::kVector) {
        w[i] = 1.0f;
        continue;
      }
      const DrawAt at = {.step = index, .token = static_cast<uint64_t>(i)};
      const std::array<uint32_t, 4> bits = DrawBits(seed, Purpose::kInitialWeights, at);
      const double u1 = bits[0] * 0x1p-32, u2 = bits[1] * 0x1p-32;
      w[i] = static_cast<float>(c.initializer_range * kernels::NormalDeviate(u1, u2));
    }
  }
  if (first_spec <= layout.embedding) ZeroPadding(c, layout.specs[static_cast<size_t>(layout.embedding)], flat);
  if (layout.value.embedding >= 0) ZeroPadding(c, layout.specs[static_cast<size_t>(layout.value.embedding)], flat);
}

}  // namespace reprise::models
