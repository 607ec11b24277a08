#include "models/decoder/gradient.h"

#include <algorithm>

namespace reprise::models {

void StartShard(const DecoderConfig& config, const DecoderLayout& layout, float* total, float* open,
                ShardGradient* gradient) {
  gradient->total = total;
  gradient->open = open;
  gradient->rows = 0;
  gradient->scored_rows = 0;
  gradient->expert_rows_LE.assign(static_cast<size_t>(config.num_hidden_layers * config.num_experts), 0);
  const int trained = layout.trained_embedding();
  if (trained < 0) return;
  const ParameterSpec& embedding = layout.specs[trained];
  if (config.tie_word_embeddings) {
    gradient->tied_embedding.assign(static_cast<size_t>(embedding.size), 0.0f);
  } else {
    std::fill_n(gradient->TotalOf(embedding), embedding.size, 0.0f);
  }
}

}  // namespace reprise::models
