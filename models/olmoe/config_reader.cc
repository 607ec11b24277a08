#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"
#include "models/olmoe/config_json.h"

namespace reprise::models {
namespace {

constexpr int64_t kMaxInteger = int64_t{1} << 40;  // ValidateDecoderConfig has narrower limits

absl::Status Size(const JsonValue& root, absl::string_view key, int64_t& out) {
  ASSIGN_OR_RETURN(const JsonValue value, root.Get(key));
  ASSIGN_OR_RETURN(out, value.Integer(0, kMaxInteger));
  return absl::OkStatus();
}

absl::Status Number(const JsonValue& object, absl::string_view key, double absent, double& out) {
  const std::optional<JsonValue> value = object.Find(key);
  out = absent;
  if (!value) return absl::OkStatus();
  ASSIGN_OR_RETURN(out, value->Number());
  return absl::OkStatus();
}

absl::Status Flag(const JsonValue& root, absl::string_view key, bool& out) {
  const std::optional<JsonValue> value = root.Find(key);
  out = false;
  if (!value) return absl::OkStatus();
  ASSIGN_OR_RETURN(out, value->Bool());
  return absl::OkStatus();
}

absl::StatusOr<int32_t> TokenId(const JsonValue& value) {
  ASSIGN_OR_RETURN(const int64_t id, value.Integer(-1, std::numeric_limits<int32_t>::max()));
  return static_cast<int32_t>(id);
}

absl::Status Unsupported(const JsonValue& value, absl::string_view found, absl::string_view supported) {
  return absl::UnimplementedError(absl::StrCat(value.place(), " is ", found, "; only ", supported, " is supported"));
}

// Requires that a key is absent or has the string `supported`, its only supported value and its default.
absl::Status RequireString(const JsonValue& object, absl::string_view key, absl::string_view supported) {
  const std::optional<JsonValue> value = object.Find(key);
  if (!value) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::string_view found, value->String());
  if (found == supported) return absl::OkStatus();
  return Unsupported(*value, absl::StrCat("\"", found, "\""), absl::StrCat("\"", supported, "\""));
}

// Transformers loads the class that `architectures` names, and this program the one of model_type.
absl::Status RequireArchitecture(const JsonValue& root) {
  constexpr absl::string_view kArchitectures[] = {"OlmoeForCausalLM", "OlmoeModel"};
  const std::optional<JsonValue> list = root.Find("architectures");
  if (!list) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, list->Elements());
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(const absl::string_view name, element.String());
    if (std::find(std::begin(kArchitectures), std::end(kArchitectures), name) != std::end(kArchitectures)) continue;
    return element.Error(
        absl::StrCat("\"", name, "\" is not of the family that /model_type names, \"olmoe\"; expected ",
                     absl::StrJoin(kArchitectures, " or "), ": take the config.json that belongs to the weights"));
  }
  return absl::OkStatus();
}

// An empty object says nothing.
absl::Status RequireWholeWeights(const JsonValue& root) {
  for (const absl::string_view key : {"quantization_config", "compression_config"}) {
    const std::optional<JsonValue> value = root.Find(key);
    if (!value || (value->is_object() && value->Members()->empty())) continue;
    const std::optional<JsonValue> method = value->Find("quant_method");
    const absl::StatusOr<absl::string_view> name = method ? method->String() : absl::string_view();
    return absl::UnimplementedError(absl::StrCat(
        value->place(), " says that the weights are quantised",
        name.ok() && !name->empty() ? absl::StrCat(" (", *name, ")") : "",
        ", and such are not read: take the model from which they were made, or convert them, in Python with "
        "AutoModelForCausalLM.from_pretrained(DIR).dequantize().save_pretrained(OTHER_DIR)"));
  }
  return absl::OkStatus();
}

absl::Status RequireSupportedNetwork(const JsonValue& root) {
  RETURN_IF_ERROR(root.Get("model_type").status());
  RETURN_IF_ERROR(RequireString(root, "model_type", "olmoe"));
  RETURN_IF_ERROR(RequireArchitecture(root));
  RETURN_IF_ERROR(RequireWholeWeights(root));
  RETURN_IF_ERROR(RequireString(root, "hidden_act", "silu"));
  bool attention_bias;
  RETURN_IF_ERROR(Flag(root, "attention_bias", attention_bias));
  if (attention_bias) return Unsupported(*root.Find("attention_bias"), "true", "false");
  double dropout;
  RETURN_IF_ERROR(Number(root, "attention_dropout", 0.0, dropout));
  if (dropout != 0.0) return Unsupported(*root.Find("attention_dropout"), absl::StrCat(dropout), "0");
  return absl::OkStatus();
}

absl::Status RequireWholeRotation(const JsonValue& object) {
  double partial;
  RETURN_IF_ERROR(Number(object, "partial_rotary_factor", 1.0, partial));
  if (partial == 1.0) return absl::OkStatus();
  return Unsupported(*object.Find("partial_rotary_factor"), absl::StrCat(partial), "1");
}

// rope_theta stands at the top level (Transformers 4), in rope_parameters (Transformers 5), or in both, and then must
// be the same: each release reads one of them.
absl::Status ReadRope(const JsonValue& root, double& theta) {
  RETURN_IF_ERROR(RequireWholeRotation(root));
  std::optional<JsonValue> first = root.Find("rope_theta");
  RETURN_IF_ERROR(Number(root, "rope_theta", 10000.0, theta));
  for (const absl::string_view key : {"rope_scaling", "rope_parameters"}) {
    const std::optional<JsonValue> rope = root.Find(key);
    if (!rope) continue;
    if (!rope->is_object()) return rope->Error("expected an object or null");
    RETURN_IF_ERROR(RequireString(*rope, "type", "default"));
    RETURN_IF_ERROR(RequireString(*rope, "rope_type", "default"));
    RETURN_IF_ERROR(RequireWholeRotation(*rope));
    const std::optional<JsonValue> value = rope->Find("rope_theta");
    double inner;
    RETURN_IF_ERROR(Number(*rope, "rope_theta", theta, inner));
    if (first && inner != theta) {
      return value->Error(absl::StrCat("it is ", inner, ", but ", first->place(), " is ", theta,
                                       ": programs differ in which they read; make them equal"));
    }
    if (value) first = value;
    theta = inner;
  }
  return absl::OkStatus();
}

absl::Status ReadSizes(const JsonValue& root, DecoderConfig& config) {
  RETURN_IF_ERROR(Size(root, "vocab_size", config.vocab_size));
  RETURN_IF_ERROR(Size(root, "hidden_size", config.hidden_size));
  RETURN_IF_ERROR(Size(root, "intermediate_size", config.intermediate_size));
  RETURN_IF_ERROR(Size(root, "num_hidden_layers", config.num_hidden_layers));
  RETURN_IF_ERROR(Size(root, "num_attention_heads", config.num_attention_heads));
  RETURN_IF_ERROR(Size(root, "num_experts", config.num_experts));
  RETURN_IF_ERROR(Size(root, "num_experts_per_tok", config.num_experts_per_tok));
  const std::optional<JsonValue> head_dim = root.Find("head_dim");
  if (head_dim && config.num_attention_heads > 0) {
    const int64_t only = config.hidden_size / config.num_attention_heads;
    ASSIGN_OR_RETURN(const int64_t found, head_dim->Integer(0, kMaxInteger));
    if (found != only) {
      return Unsupported(*head_dim, absl::StrCat(found),
                         absl::StrCat(only, ", which is hidden_size / num_attention_heads,"));
    }
  }
  config.num_key_value_heads = config.num_attention_heads;
  if (root.Find("num_key_value_heads")) RETURN_IF_ERROR(Size(root, "num_key_value_heads", config.num_key_value_heads));
  config.max_position_embeddings = 4096;
  if (root.Find("max_position_embeddings")) {
    RETURN_IF_ERROR(Size(root, "max_position_embeddings", config.max_position_embeddings));
  }
  return absl::OkStatus();
}

absl::Status ReadNumbers(const JsonValue& root, DecoderConfig& config) {
  RETURN_IF_ERROR(ReadRope(root, config.rope_theta));
  RETURN_IF_ERROR(Number(root, "rms_norm_eps", 1e-5, config.rms_norm_eps));
  RETURN_IF_ERROR(Number(root, "router_aux_loss_coef", 0.01, config.router_aux_loss_coef));
  RETURN_IF_ERROR(Number(root, "initializer_range", 0.02, config.initializer_range));
  RETURN_IF_ERROR(Flag(root, "norm_topk_prob", config.norm_topk_prob));
  RETURN_IF_ERROR(Flag(root, "tie_word_embeddings", config.tie_word_embeddings));
  config.clip_qkv.reset();
  if (const std::optional<JsonValue> clip = root.Find("clip_qkv")) {
    ASSIGN_OR_RETURN(config.clip_qkv, clip->Number());
  }
  return absl::OkStatus();
}

// Absent and null differ: an absent key takes OlmoeConfig's default; null means that there is no such token.
absl::Status ReadTokens(const JsonValue& root, DecoderConfig& config) {
  ASSIGN_OR_RETURN(const auto members, root.Members());
  config.pad_token_id = 1;
  config.bos_token_id = -1;
  config.eos_token_id.clear();
  constexpr int32_t kDefaultEos = 50279;  // a smaller vocabulary cannot have it
  if (config.vocab_size > kDefaultEos) config.eos_token_id = {kDefaultEos};
  for (const auto& [key, value] : members) {
    const bool null = value.is_null();
    if (key == "pad_token_id") {
      ASSIGN_OR_RETURN(config.pad_token_id, null ? absl::StatusOr<int32_t>(-1) : TokenId(value));
    } else if (key == "bos_token_id") {
      ASSIGN_OR_RETURN(config.bos_token_id, null ? absl::StatusOr<int32_t>(-1) : TokenId(value));
    } else if (key == "eos_token_id") {
      config.eos_token_id.clear();
      if (null) continue;
      std::vector<JsonValue> ids = {value};
      if (value.is_array()) {
        ASSIGN_OR_RETURN(ids, value.Elements());
      }
      for (const JsonValue& id : ids) {
        ASSIGN_OR_RETURN(const int32_t eos, TokenId(id));
        config.eos_token_id.push_back(eos);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DecoderConfig> ParseOlmoeConfig(absl::string_view json) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  const JsonValue root = document.root();
  RETURN_IF_ERROR(RequireSupportedNetwork(root));
  DecoderConfig config;
  RETURN_IF_ERROR(ReadSizes(root, config));
  RETURN_IF_ERROR(ReadNumbers(root, config));
  RETURN_IF_ERROR(ReadTokens(root, config));
  RETURN_IF_ERROR(ValidateDecoderConfig(config));
  return config;
}

}  // namespace reprise::models
