#include "models/quiet_star/attention_dispersion.h"

#include <algorithm>
#include <cstdint>

#include "core/status/check.h"
#include "kernels/attention/attention_entropy.h"
#include "kernels/math/scalar_math.h"
#include "models/decoder/layer.h"

namespace reprise::models {

std::vector<float> AttentionDispersion(const Activations& activations, size_t segment) {
  const DecoderConfig& config = activations.config();
  const Segment& of = activations.batch().segments[segment];
  CHECK_EQ(of.prefix, kNoPrefix);
  const kernels::Range range = {of.begin, of.begin + of.rows - 1};
  const Projections layer(config, activations.layer(config.num_hidden_layers - 1).qkv_TC);
  const int64_t width = config.head_width(), heads = config.num_attention_heads;
  const int64_t sharing = heads / config.num_key_value_heads;
  const double scale = 1.0 / kernels::Sqrt(static_cast<double>(width));
  const size_t rows = static_cast<size_t>(range.size());
  std::vector<double> entropy_S(rows), sum_S(rows);
  for (int64_t head = 0; head < heads; ++head) {
    kernels::AttentionEntropies(layer.q.Slice(range).Columns(head * width, width),
                                layer.k.Slice(range).Columns(head / sharing * width, width), scale, entropy_S.data());
    for (size_t s = 0; s < rows; ++s) sum_S[s] += entropy_S[s];
  }
  std::vector<float> dispersion_S(rows);
  for (size_t s = 1; s < rows; ++s) {
    const double most = static_cast<double>(heads) * kernels::Log(static_cast<double>(s + 1));
    dispersion_S[s] = static_cast<float>(std::clamp(sum_S[s] / most, 0.0, 1.0));
  }
  return dispersion_S;
}

}  // namespace reprise::models
