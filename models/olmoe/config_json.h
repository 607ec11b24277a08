#ifndef MODELS_OLMOE_CONFIG_JSON_H_
#define MODELS_OLMOE_CONFIG_JSON_H_

// config.json of an OLMoE model (Transformers' OlmoeForCausalLM).

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/decoder/config.h"

namespace reprise::models {

// Accepts the spelling of Transformers 5 (rope_parameters) and the older one (rope_theta, rope_scaling at the top
// level), or both if they agree. num_key_value_heads may be absent (one per head); eos_token_id is a number, a list or
// null. Absent keys that are not sizes take the defaults of Transformers' OlmoeConfig; keys that do not affect the
// network are ignored. The result passes ValidateDecoderConfig. InvalidArgument for a missing or malformed key, naming
// it, and for architectures of another model_type; Unimplemented for a network that Reprise cannot compute: another
// model_type, another activation, scaled rotary positions, attention with bias or dropout, a head_dim that is not
// hidden_size / num_attention_heads, quantised weights.
absl::StatusOr<DecoderConfig> ParseOlmoeConfig(absl::string_view json);

// Returns config.json, in the spellings of Transformers 5 and of Transformers 4 at once, and generation_config.json,
// with sorted keys; deterministic. ParseOlmoeConfig(OlmoeConfigJson(config)) == config. architecture: Transformers'
// class that loads the weights.
std::string OlmoeConfigJson(const DecoderConfig& config, absl::string_view architecture = "OlmoeForCausalLM");
std::string OlmoeGenerationConfigJson(const DecoderConfig& config);

}  // namespace reprise::models

#endif  // MODELS_OLMOE_CONFIG_JSON_H_
