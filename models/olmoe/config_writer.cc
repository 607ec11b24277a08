#include "models/olmoe/config_json.h"
#include "nlohmann/json.hpp"

namespace reprise::models {
namespace {

using Json = nlohmann::json;

Json TokenOrNull(int32_t id) { return id < 0 ? Json() : Json(id); }

Json OneOrList(const std::vector<int32_t>& ids) {
  if (ids.empty()) return Json();
  return ids.size() == 1 ? Json(ids[0]) : Json(ids);
}

std::string Text(const Json& json) { return json.dump(2) + "\n"; }

}  // namespace

std::string OlmoeConfigJson(const DecoderConfig& c, absl::string_view architecture) {
  Json json;
  json["architectures"] = Json::array({std::string(architecture)});
  json["attention_bias"] = false;
  json["attention_dropout"] = 0.0;
  json["bos_token_id"] = TokenOrNull(c.bos_token_id);
  json["clip_qkv"] = c.clip_qkv ? Json(*c.clip_qkv) : Json();
  json["dtype"] = "float32";
  json["eos_token_id"] = OneOrList(c.eos_token_id);
  json["hidden_act"] = "silu";
  json["hidden_size"] = c.hidden_size;
  json["initializer_range"] = c.initializer_range;
  json["intermediate_size"] = c.intermediate_size;
  json["max_position_embeddings"] = c.max_position_embeddings;
  json["model_type"] = "olmoe";
  json["norm_topk_prob"] = c.norm_topk_prob;
  json["num_attention_heads"] = c.num_attention_heads;
  json["num_experts"] = c.num_experts;
  json["num_experts_per_tok"] = c.num_experts_per_tok;
  json["num_hidden_layers"] = c.num_hidden_layers;
  json["num_key_value_heads"] = c.num_key_value_heads;
  json["output_router_logits"] = false;
  json["pad_token_id"] = TokenOrNull(c.pad_token_id);
  json["rms_norm_eps"] = c.rms_norm_eps;
  json["rope_parameters"] = {{"rope_theta", c.rope_theta}, {"rope_type", "default"}};
  // Transformers 4 reads these two instead, and 10000 without them.
  json["rope_scaling"] = Json();
  json["rope_theta"] = c.rope_theta;
  json["router_aux_loss_coef"] = c.router_aux_loss_coef;
  json["tie_word_embeddings"] = c.tie_word_embeddings;
  json["use_cache"] = true;
  json["vocab_size"] = c.vocab_size;
  return Text(json);
}

std::string OlmoeGenerationConfigJson(const DecoderConfig& c) {
  Json json;
  json["_from_model_config"] = true;
  json["bos_token_id"] = TokenOrNull(c.bos_token_id);
  json["eos_token_id"] = OneOrList(c.eos_token_id);
  json["output_attentions"] = false;
  json["output_hidden_states"] = false;
  json["pad_token_id"] = TokenOrNull(c.pad_token_id);
  json["use_cache"] = true;
  return Text(json);
}

}  // namespace reprise::models
