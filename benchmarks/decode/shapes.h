#ifndef BENCHMARKS_DECODE_SHAPES_H_
#define BENCHMARKS_DECODE_SHAPES_H_

// The benchmarked models, by name. benchmarks/peers/llama_peer.py has the same list.

#include "absl/strings/string_view.h"
#include "models/decoder/config.h"

namespace reprise::benchmarks {

// `name` is "nano", "micro", "olmoe" (OLMoE-1B-7B), or "olmoe_2" (two layers of it).
inline models::DecoderConfig NamedShape(absl::string_view name) {
  models::DecoderConfig config;
  if (name == "micro") {
    config.vocab_size = 512;
    config.hidden_size = config.intermediate_size = 256;
    config.num_hidden_layers = 4;
    config.num_attention_heads = config.num_key_value_heads = 8;
    config.num_experts = 16;
    config.num_experts_per_tok = 4;
  } else if (name == "olmoe" || name == "olmoe_2") {
    config.vocab_size = 50304;
    config.hidden_size = 2048;
    config.intermediate_size = 1024;
    config.num_hidden_layers = name == "olmoe" ? 16 : 2;
    config.num_attention_heads = config.num_key_value_heads = 16;
    config.num_experts = 64;
    config.num_experts_per_tok = 8;
  }
  return config;
}

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_DECODE_SHAPES_H_
