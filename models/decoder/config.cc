#include "models/decoder/config.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise::models {
namespace {

constexpr int64_t kMaxDimension = int64_t{1} << 24;
// As floats such numbers are neither 0 nor infinite.
constexpr double kLeastFloat = 1e-30, kMostFloat = 1e30;
constexpr int64_t kMostRank = 4096;    // of adapters
constexpr double kMostDropout = 0.99;  // of their inputs

absl::Status InRange(absl::string_view name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, "; expected ", low, " to ", high));
}

absl::Status InBounds(absl::string_view name, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, "; expected ", low, " to ", high));
}

absl::Status Require(bool condition, absl::string_view sentence) {
  return condition ? absl::OkStatus() : absl::InvalidArgumentError(sentence);
}

absl::Status ValidateSizes(const DecoderConfig& c) {
  RETURN_IF_ERROR(InRange("vocab_size", c.vocab_size, 2, kMaxDimension));
  RETURN_IF_ERROR(InRange("hidden_size", c.hidden_size, 1, kMaxDimension));
  RETURN_IF_ERROR(InRange("intermediate_size", c.intermediate_size, 1, kMaxDimension));
  RETURN_IF_ERROR(InRange("num_hidden_layers", c.num_hidden_layers, 1, 1024));
  RETURN_IF_ERROR(InRange("num_attention_heads", c.num_attention_heads, 1, 4096));
  RETURN_IF_ERROR(InRange("num_key_value_heads", c.num_key_value_heads, 1, 4096));
  RETURN_IF_ERROR(InRange("num_experts", c.num_experts, 1, 4096));
  RETURN_IF_ERROR(InRange("num_experts_per_tok", c.num_experts_per_tok, 1, 4096));
  RETURN_IF_ERROR(Require(c.num_experts_per_tok <= c.num_experts,
                          absl::StrCat("num_experts ", c.num_experts, " is less than num_experts_per_tok ",
                                       c.num_experts_per_tok, ": more experts, or fewer of them for a token")));
  RETURN_IF_ERROR(InRange("max_position_embeddings", c.max_position_embeddings, 1, kMaxDimension));
  RETURN_IF_ERROR(Require(c.hidden_size % c.num_attention_heads == 0,
                          absl::StrCat("hidden_size ", c.hidden_size, " is not a multiple of num_attention_heads ",
                                       c.num_attention_heads)));
  RETURN_IF_ERROR(
      Require(c.num_attention_heads % c.num_key_value_heads == 0,
              absl::StrCat("num_attention_heads ", c.num_attention_heads, " is not a multiple of num_key_value_heads ",
                           c.num_key_value_heads,
                           ": each key-value head serves the same number of attention heads; change one of the two")));
  return Require(c.head_width() % 2 == 0, absl::StrCat("the head width ", c.head_width(),
                                                       " (hidden_size / num_attention_heads) is odd; rotary "
                                                       "positions need pairs"));
}

// Checks an upper bound in double, which cannot overflow; below it, every product of sizes fits in int64.
absl::Status ValidateTotal(const DecoderConfig& c) {
  const double d = static_cast<double>(c.hidden_size), f = static_cast<double>(c.intermediate_size);
  const double layer = 4 * d * d + 3.0 * c.num_experts * d * f + c.num_experts * d + 4 * d;
  RETURN_IF_ERROR(Require(2 * c.vocab_size * d + c.num_hidden_layers * layer + d <= 0x1p40,
                          "the model has more than 2^40 parameters"));
  // Each matrix has a name, and the names take memory before anything estimates the size of the weights.
  return Require(3 * c.num_hidden_layers * c.num_experts <= int64_t{1} << 20,
                 "num_hidden_layers times num_experts makes more than 2^20 expert matrices");
}

// Returns the least side of the module's matrix.
int64_t LeastSide(const DecoderConfig& c, LoraModule module) {
  switch (module) {
    case LoraModule::kQ:
    case LoraModule::kO:
      return c.hidden_size;
    case LoraModule::kK:
    case LoraModule::kV:
      return c.key_value_width();
    case LoraModule::kGate:
    case LoraModule::kUp:
    case LoraModule::kDown:
      break;
  }
  return std::min(c.hidden_size, c.intermediate_size);
}

// A larger rank adds parameters, but no matrices that a smaller one does not have.
absl::Status ValidateRank(const DecoderConfig& c) {
  for (size_t module = 0; module < kLoraModuleNames.size(); ++module) {
    if (!c.lora.targets[module]) continue;
    const int64_t most = LeastSide(c, static_cast<LoraModule>(module));
    if (c.lora.r <= most) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("lora.r is ", c.lora.r, ", but the matrices of ", kLoraModuleNames[module], " have only rank ",
                     most, ": set lora.r to at most ", most, ", or leave the module out of lora.target_modules"));
  }
  return absl::OkStatus();
}

absl::Status ValidateAdapters(const DecoderConfig& c) {
  RETURN_IF_ERROR(InRange("new_rows", c.new_rows, 0, c.lora.is_on() ? c.vocab_size - 1 : 0));
  if (!c.lora.is_on()) return Require(c.lora.r == 0, absl::StrCat("lora.r is ", c.lora.r, "; expected at least 0"));
  RETURN_IF_ERROR(InRange("lora.r", c.lora.r, 1, kMostRank));
  RETURN_IF_ERROR(InBounds("lora.alpha", c.lora.alpha, 1e-6, 1e6));
  RETURN_IF_ERROR(InBounds("lora.dropout", c.lora.dropout, 0, kMostDropout));
  RETURN_IF_ERROR(Require(std::ranges::count(c.lora.targets, true) > 0, "lora has no target modules"));
  RETURN_IF_ERROR(ValidateRank(c));
  return Require(c.value_model != ValueModel::kNetwork,
                 "a value network cannot be trained with adapters (lora), whose language model is frozen: use a value "
                 "head");
}

}  // namespace

absl::Status ValidateDecoderConfig(const DecoderConfig& c) {
  RETURN_IF_ERROR(ValidateSizes(c));
  RETURN_IF_ERROR(ValidateTotal(c));
  // With less than 1, positions would turn by more than a radian each, and finally by more than a float can resolve.
  RETURN_IF_ERROR(InBounds("rope_theta", c.rope_theta, 1, kMostFloat));
  RETURN_IF_ERROR(InBounds("rms_norm_eps", c.rms_norm_eps, kLeastFloat, 1));
  if (c.clip_qkv) RETURN_IF_ERROR(InBounds("clip_qkv", *c.clip_qkv, kLeastFloat, kMostFloat));
  RETURN_IF_ERROR(Require(c.router_aux_loss_coef >= 0 && c.router_aux_loss_coef < 1e6,
                          "router_aux_loss_coef must not be negative"));
  RETURN_IF_ERROR(Require(c.initializer_range >= 0 && c.initializer_range <= 1000,
                          "initializer_range must lie between 0 and 1000"));
  RETURN_IF_ERROR(InRange("pad_token_id", c.pad_token_id, -1, c.vocab_size - 1));
  RETURN_IF_ERROR(InRange("bos_token_id", c.bos_token_id, -1, c.vocab_size - 1));
  for (int32_t eos : c.eos_token_id) RETURN_IF_ERROR(InRange("eos_token_id", eos, 0, c.vocab_size - 1));
  return ValidateAdapters(c);
}

}  // namespace reprise::models
