#include "models/decoder/attention_clip.h"

#include <algorithm>
#include <vector>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"

namespace reprise::models {
namespace {

// Scales the gains of one head.
void ScaleHead(const DecoderLayout& layout, int norm, int64_t head, int64_t width, double factor,
               absl::Span<float> parameters) {
  if (factor == 1) return;
  const int64_t begin = layout.specs[static_cast<size_t>(norm)].offset + head * width;
  for (float& gain : parameters.subspan(static_cast<size_t>(begin), static_cast<size_t>(width))) {
    gain = static_cast<float>(static_cast<double>(gain) * factor);
  }
}

}  // namespace

int64_t ClipAttention(const DecoderConfig& config, const DecoderLayout& layout, absl::Span<const float> largest_LH,
                      double threshold, absl::Span<float> parameters) {
  const int64_t heads = config.num_attention_heads, group = heads / config.num_key_value_heads;
  CHECK_EQ(static_cast<int64_t>(largest_LH.size()), config.num_hidden_layers * heads);
  CHECK_EQ(static_cast<int64_t>(layout.layers.size()), config.num_hidden_layers);
  int64_t clipped = 0;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const LayerParameters& own = layout.layers[static_cast<size_t>(layer)];
    std::vector<double> least_K(static_cast<size_t>(config.num_key_value_heads), 1.0);
    for (int64_t head = 0; head < heads; ++head) {
      const double largest = static_cast<double>(largest_LH[static_cast<size_t>(layer * heads + head)]);
      if (!(largest > threshold)) continue;
      const double share = threshold / largest;
      double& least = least_K[static_cast<size_t>(head / group)];
      least = std::min(least, share);
      ++clipped;
      ScaleHead(layout, own.q_norm, head, config.head_width(), kernels::Sqrt(share), parameters);
    }
    for (int64_t key_head = 0; key_head < config.num_key_value_heads; ++key_head) {
      const double factor = kernels::Sqrt(least_K[static_cast<size_t>(key_head)]);
      ScaleHead(layout, own.k_norm, key_head, config.head_width(), factor, parameters);
    }
  }
  return clipped;
}

}  // namespace reprise::models
