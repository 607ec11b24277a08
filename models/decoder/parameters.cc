#include "models/decoder/parameters.h"

#include <algorithm>

#include "absl/strings/match.h"
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

// The shape of a module's matrix.
struct ModuleShape {
  int64_t out, in;
};

// Appends the adapters of one layer.
LayerAdapterParameters AppendAdapters(DecoderLayout& layout, const DecoderConfig& c, int64_t index) {
  const std::string prefix = absl::StrCat("base_model.model.model.layers.", index, ".");
  const auto append = [&](LoraModule module, absl::string_view place, ModuleShape shape) {
    AdapterParameters adapter;
    if (!c.lora.Targets(module)) return adapter;
    const std::string name = absl::StrCat(prefix, place, kLoraModuleNames[static_cast<size_t>(module)]);
    adapter.a = layout.Append(name + ".lora_A.weight", {c.lora.r, shape.in}, ParameterKind::kMatrix);
    adapter.b = layout.Append(name + ".lora_B.weight", {shape.out, c.lora.r}, ParameterKind::kMatrix);
    return adapter;
  };
  const int64_t width = c.hidden_size, keys = c.key_value_width(), inner = c.intermediate_size;
  LayerAdapterParameters layer;
  layer.q = append(LoraModule::kQ, "self_attn.", {width, width});
  layer.k = append(LoraModule::kK, "self_attn.", {keys, width});
  layer.v = append(LoraModule::kV, "self_attn.", {keys, width});
  layer.o = append(LoraModule::kO, "self_attn.", {width, width});
  for (int64_t e = 0; e < c.num_experts; ++e) {
    const std::string expert = absl::StrCat("mlp.experts.", e, ".");
    layer.gate_E.push_back(append(LoraModule::kGate, expert, {inner, width}));
    layer.up_E.push_back(append(LoraModule::kUp, expert, {inner, width}));
    layer.down_E.push_back(append(LoraModule::kDown, expert, {width, inner}));
  }
  return layer;
}

// The language model's own tensors are frozen: the layout has only its adapters.
DecoderLayout MakeAdapterLayout(const DecoderConfig& c) {
  DecoderLayout layout;
  layout.embedding = layout.final_norm = layout.lm_head = -1;
  const std::vector<int> frozen_E(static_cast<size_t>(c.num_experts), -1);
  const LayerParameters frozen = {-1, -1, -1, -1, -1, -1, -1, -1, -1, frozen_E, frozen_E, frozen_E};
  layout.layers.assign(static_cast<size_t>(c.num_hidden_layers), frozen);
  for (int64_t i = 0; i < c.num_hidden_layers; ++i) layout.adapters.push_back(AppendAdapters(layout, c, i));
  if (c.new_rows > 0) {
    const Shape shape = {c.new_rows, c.hidden_size};
    NewRowParameters& rows = layout.new_rows;
    rows.embedding = layout.Append("new_rows.embed_tokens.weight", shape, ParameterKind::kEmbedding, /*by_rows=*/true);
    rows.lm_head = c.tie_word_embeddings
                       ? rows.embedding
                       : layout.Append("new_rows.lm_head.weight", shape, ParameterKind::kHead, /*by_rows=*/true);
  }
  layout.policy_total = layout.total;
  layout.policy_specs = static_cast<int>(layout.specs.size());
  return layout;
}

}  // namespace

DecoderLayout MakeBaseLayout(const DecoderConfig& c) {
  DecoderLayout layout;
  AppendTrunk(c, &layout);
  layout.lm_head = c.tie_word_embeddings ? layout.embedding
                                         : layout.Append("lm_head.weight", {c.vocab_size, c.hidden_size},
                                                         ParameterKind::kHead, /*by_rows=*/true);
  layout.policy_total = layout.total;
  layout.policy_specs = static_cast<int>(layout.specs.size());
  return layout;
}

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

DecoderLayout EncoderLayout(const DecoderConfig& c) { return c.lora.is_on() ? MakeAdapterLayout(c) : TrunkLayout(c); }

DecoderLayout MakeDecoderLayout(const DecoderConfig& c) {
  DecoderLayout layout = c.lora.is_on() ? MakeAdapterLayout(c) : MakeBaseLayout(c);
  if (c.value_model == ValueModel::kNone) return layout;
  if (c.value_model == ValueModel::kNetwork) AppendValueNetwork(c, &layout);
  layout.value.weight = layout.Append("v_head.summary.weight", {1, c.hidden_size}, ParameterKind::kHead);
  layout.value.bias = layout.Append("v_head.summary.bias", {1}, ParameterKind::kVector);
  return layout;
}

namespace {

// Whether the tensor, which belongs to an adapter, is its B.
bool IsB(const ParameterSpec& spec) { return absl::EndsWith(spec.name, ".lora_B.weight"); }

double DeviationOf(const DecoderConfig& c, const DecoderLayout& layout, int index) {
  const bool is_adapter = !layout.adapters.empty() && index < layout.policy_specs;
  if (!is_adapter) return c.initializer_range;
  return kernels::Sqrt(1.0 / (3.0 * static_cast<double>(layout.specs[index].shape[1])));
}

}  // namespace

void InitializeTensor(const DecoderConfig& c, const DecoderLayout& layout, uint64_t seed, int index,
                      absl::Span<float> w) {
  const ParameterSpec& spec = layout.specs[index];
  CHECK_EQ(static_cast<int64_t>(w.size()), spec.size);
  if (index == layout.value.bias || IsB(spec)) return std::fill(w.begin(), w.end(), 0.0f);
  if (spec.kind == ParameterKind::kVector) return std::fill(w.begin(), w.end(), 1.0f);
  const double deviation = DeviationOf(c, layout, index);
  const uint64_t turn = layout.adapters.empty() ? 0 : 1;  // other draws than those of the frozen tensors
  for (size_t i = 0; i < w.size(); ++i) {
    const DrawAt at = {.step = static_cast<uint64_t>(index), .turn = turn, .token = i};
    const std::array<uint32_t, 4> bits = DrawBits(seed, Purpose::kInitialWeights, at);
    const double u1 = bits[0] * 0x1p-32, u2 = bits[1] * 0x1p-32;
    w[i] = static_cast<float>(deviation * kernels::NormalDeviate(u1, u2));
  }
  if ((index == layout.embedding || index == layout.value.embedding) && c.pad_token_id >= 0) {
    std::fill_n(w.begin() + c.pad_token_id * c.hidden_size, c.hidden_size, 0.0f);
  }
}

void InitializeParameters(const DecoderConfig& c, const DecoderLayout& layout, uint64_t seed, absl::Span<float> flat,
                          int first_spec) {
  CHECK_EQ(static_cast<int64_t>(flat.size()), layout.total);
  const size_t first = static_cast<size_t>(first_spec);
  if (first == layout.specs.size()) return;
  std::fill(flat.begin() + layout.specs[first].offset, flat.end(), 0.0f);
  for (size_t index = first; index < layout.specs.size(); ++index) {
    const ParameterSpec& spec = layout.specs[index];
    InitializeTensor(c, layout, seed, static_cast<int>(index),
                     flat.subspan(static_cast<size_t>(spec.offset), static_cast<size_t>(spec.size)));
  }
}

}  // namespace reprise::models
