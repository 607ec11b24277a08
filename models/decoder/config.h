#ifndef MODELS_DECODER_CONFIG_H_
#define MODELS_DECODER_CONFIG_H_

// The shape and the numeric constants of a decoder-only language model. Field names follow Hugging Face's config.json.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "models/lora/lora_config.h"

namespace reprise::models {

// What predicts returns beside the language model: nothing, a linear head on the language model's hidden states, or a
// second decoder of the same shape with such a head.
enum class ValueModel { kNone, kHead, kNetwork };

struct DecoderConfig {
  int64_t vocab_size = 128;
  int64_t hidden_size = 64;
  int64_t intermediate_size = 64;  // width of one expert
  int64_t num_hidden_layers = 2;
  int64_t num_attention_heads = 4;
  int64_t num_key_value_heads = 4;  // divides num_attention_heads
  int64_t num_experts = 8;
  int64_t num_experts_per_tok = 2;
  int64_t max_position_embeddings = 256;
  double rope_theta = 10000.0;
  double rms_norm_eps = 1e-5;
  std::optional<double> clip_qkv;  // queries, keys and values are clamped to [-clip_qkv, clip_qkv]
  bool norm_topk_prob = false;     // the probabilities of the chosen experts are divided by their sum
  bool tie_word_embeddings = false;
  double router_aux_loss_coef = 0.01;
  double initializer_range = 0.02;
  bool bf16_weights = false;  // forward and backward passes see every matrix but the routers' rounded to bf16
  int32_t pad_token_id = 0;   // -1: none. Its embedding gets no gradient (torch's padding_idx)
  int32_t bos_token_id = 2;   // -1: none
  std::vector<int32_t> eos_token_id = {1};
  // Chosen by the run; not in config.json.
  ValueModel value_model = ValueModel::kNone;
  LoraConfig lora = {};  // with adapters, the language model itself is frozen; not with a value network
  // With adapters: so many rows at the end of the vocabulary are trained too, those of the embedding and of the
  // lm-head.
  int64_t new_rows = 0;

  int64_t head_width() const { return hidden_size / num_attention_heads; }
  int64_t first_new_row() const { return vocab_size - new_rows; }
  int64_t key_value_width() const { return num_key_value_heads * head_width(); }

  bool operator==(const DecoderConfig&) const = default;
};

// InvalidArgument naming the field if sizes are out of range or inconsistent (heads must divide the width, the head
// width must be even, experts per token must not exceed experts, token ids must be within the vocabulary, at most 2^40
// parameters, ...).
absl::Status ValidateDecoderConfig(const DecoderConfig& config);

}  // namespace reprise::models

#endif  // MODELS_DECODER_CONFIG_H_
