#include "models/decoder/corruption.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/tensor/bounds.h"
#include "kernels/products/products.h"
#include "models/decoder/activations.h"

namespace reprise::models {
namespace {

constexpr int64_t kRowsOfLogits = 32;  // computed at a time

std::string DamagedParameter(const Model& model) {
  for (const ParameterSpec& spec : model.layout().specs) {
    const float* const values = model.parameters().data() + spec.offset;
    const float* const at = std::find_if_not(values, values + spec.size, IsWithinBounds<float>);
    if (at != values + spec.size) return absl::StrCat(spec.name, " (element ", at - values, " is ", *at, ")");
  }
  return "";
}

// Returns the name of the tensor that begins at `offset`.
std::string NameAt(const DecoderLayout& layout, int64_t offset) {
  for (const ParameterSpec& spec : layout.specs) {
    if (spec.offset == offset) return spec.name;
  }
  return "";
}

std::string DamagedCopy(const Model& model) {
  const Decoder& policy = model.decoder();
  if (const auto offset = policy.weights.FirstDamage()) {
    return NameAt(model.config().lora.is_on() ? MakeBaseLayout(model.config()) : model.layout(), *offset);
  }
  const int adapter = model.adapters() == nullptr ? -1 : model.adapters()->FirstDamage();
  if (adapter >= 0) return model.layout().specs[adapter].name;
  if (&model.value_decoder() == &policy) return "";
  const auto offset = model.value_decoder().weights.FirstDamage();
  return offset ? NameAt(model.layout(), *offset + model.layout().value.trunk_offset) : "";
}

// Subnormal numbers are corruption where a result is a sum of ordinary products; elsewhere exponentials can produce
// them.
enum class Subnormal { kIsDamage, kIsANumber };

std::string Damage(const std::string& name, const kernels::ConstRows& rows, Subnormal subnormal = Subnormal::kIsANumber,
                   int64_t first_row = 0) {
  for (int64_t i = 0; i < rows.rows * rows.width; ++i) {
    const float value = rows.data[i];
    if (IsWithinBounds(value)) continue;
    if (subnormal == Subnormal::kIsANumber && std::fpclassify(value) == FP_SUBNORMAL) continue;
    return absl::StrCat(name, " (", value, " at row ", first_row + i / rows.width, ", column ", i % rows.width, ")");
  }
  return "";
}

// Checks the layer's tensors in the order in which they are computed.
std::string DamageOfLayer(const Activations& activations, int64_t index) {
  const LayerRows& layer = activations.layer(index);
  const std::string of_layer = absl::StrCat(" of layer ", index);
  std::string found = Damage("hidden_states" + of_layer, layer.x_TD);
  if (!found.empty()) return found;
  found = Damage("queries, keys and values" + of_layer, layer.qkv_TC);
  if (!found.empty()) return found;
  found = Damage("attention's output" + of_layer, layer.middle_TD);
  if (!found.empty()) return found;
  found = Damage("router_logits" + of_layer, layer.router_logits_TE, Subnormal::kIsDamage);
  if (!found.empty()) return found;
  return Damage("the experts' output" + of_layer, layer.mixed_TD);
}

std::string DamagedLogits(const Decoder& decoder, const Activations& activations) {
  const int64_t vocabulary = decoder.config.vocab_size;
  std::vector<float> floats(static_cast<size_t>(kRowsOfLogits * vocabulary));
  for (int64_t row = 0; row < activations.rows(); row += kRowsOfLogits) {
    const kernels::Range range = {row, std::min(row + kRowsOfLogits, activations.rows())};
    const kernels::Rows logits = {floats.data(), range.size(), vocabulary};
    kernels::Product(activations.hidden_TD().Slice(range), decoder.weights.lm_head(), logits);
    std::string found = Damage("logits", logits, Subnormal::kIsDamage, row);
    if (!found.empty()) return found;
  }
  return "";
}

std::string DamagedActivation(const Decoder& decoder, const PackedBatch& batch) {
  Activations activations(decoder.config, /*training=*/true);
  Forward(decoder, batch, nullptr, &activations);
  for (int64_t i = 0; i < decoder.config.num_hidden_layers; ++i) {
    std::string found = DamageOfLayer(activations, i);
    if (!found.empty()) return found;
  }
  std::string found = Damage("the decoder's output", activations.hidden_TD());
  return found.empty() && decoder.weights.has_lm_head() ? DamagedLogits(decoder, activations) : found;
}

}  // namespace

std::string FindCorruption(const Model& model, const PackedBatch& batch) {
  std::string parameter = DamagedParameter(model);
  if (!parameter.empty()) return parameter;
  const std::string activation = DamagedActivation(model.decoder(), batch), copy = DamagedCopy(model);
  if (copy.empty()) return activation;
  if (activation.empty()) return absl::StrCat(copy, ", whose packed copy for the kernels differs");
  return absl::StrCat(activation, "; the kernels' packed copy of ", copy, " differs");
}

}  // namespace reprise::models
