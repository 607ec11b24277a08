#include "models/quiet_star/thinking_tokens.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/random/draw.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/math/scalar_math.h"
#include "models/quiet_star/thought_purposes.h"

namespace reprise::models {
namespace {

constexpr int64_t kCount = static_cast<int64_t>(kThinkingTokens.size());
constexpr uint64_t kNewRows = 2;  // `sample` of the draws

// Sets the new rows of one tensor [V, D] at `rows`.
void InitializeRows(int64_t vocabulary, int64_t width, uint64_t seed, int spec, int32_t like_token, float* rows) {
  const int64_t old = vocabulary - kCount;
  for (int64_t d = 0; d < width; ++d) {
    double sum = 0, squares = 0;
    for (int64_t v = 0; v < old; ++v) sum += static_cast<double>(rows[v * width + d]);
    const double mean = sum / static_cast<double>(old);
    for (int64_t v = 0; v < old; ++v) {
      const double from_mean = static_cast<double>(rows[v * width + d]) - mean;
      squares += from_mean * from_mean;
    }
    const double deviation = kernels::Sqrt(squares / static_cast<double>(old));
    for (int64_t i = 0; i < kCount; ++i) {
      const std::array<uint32_t, 4> bits = DrawBits(seed, kThoughtNoise,
                                                    {.step = static_cast<uint64_t>(spec),
                                                     .sample = kNewRows,
                                                     .turn = static_cast<uint64_t>(i),
                                                     .token = static_cast<uint64_t>(d)});
      const double deviate = kernels::NormalDeviate(bits[0] * 0x1p-32, bits[1] * 0x1p-32);
      rows[(old + i) * width + d] = static_cast<float>(mean + deviation * deviate);
    }
  }
  if (like_token < 0) return;
  CHECK_LT(like_token, old);
  for (int64_t i = 0; i < 2; ++i) std::copy_n(rows + like_token * width, width, rows + (old + i) * width);
}

}  // namespace

DecoderConfig WithThinkingTokens(DecoderConfig config) {
  config.vocab_size += kCount;
  config.new_rows = config.lora.is_on() ? kCount : 0;
  return config;
}

ThoughtDelimiters DelimitersOf(const DecoderConfig& grown) {
  const int32_t first = static_cast<int32_t>(grown.vocab_size - kCount);
  return {first, first + 1};
}

std::vector<int32_t> ThinkingTokenIds(const DecoderConfig& grown) {
  std::vector<int32_t> ids;
  for (int64_t id = grown.vocab_size - kCount; id < grown.vocab_size; ++id) ids.push_back(static_cast<int32_t>(id));
  return ids;
}

void CopyParameters(const DecoderLayout& from_layout, absl::Span<const float> from, const DecoderLayout& to_layout,
                    absl::Span<float> to) {
  std::unordered_map<std::string, const ParameterSpec*> spec_of;
  for (const ParameterSpec& spec : from_layout.specs) spec_of[spec.name] = &spec;
  for (const ParameterSpec& spec : to_layout.specs) {
    const auto found = spec_of.find(spec.name);
    if (found == spec_of.end()) continue;
    const ParameterSpec& source = *found->second;
    CHECK_LE(source.size, spec.size);
    CHECK(source.size == spec.size || source.shape[1] == spec.shape[1]);
    std::copy_n(from.begin() + source.offset, source.size, to.begin() + spec.offset);
  }
}

void InitializeThinkingTokens(const DecoderConfig& grown, const DecoderLayout& layout, uint64_t seed,
                              int32_t like_token, absl::Span<float> parameters) {
  const auto initialize = [&](int spec) {
    InitializeRows(grown.vocab_size, grown.hidden_size, seed, spec, like_token,
                   parameters.data() + layout.specs[spec].offset);
  };
  initialize(layout.embedding);
  if (layout.lm_head != layout.embedding) initialize(layout.lm_head);
}

absl::Status InitializeNewRows(const DecoderConfig& grown, const DecoderLayout& layout, uint64_t seed,
                               int32_t like_token, const TensorReader& read, absl::Span<float> parameters) {
  const DecoderLayout base = MakeBaseLayout(grown);
  const auto initialize = [&](int spec, int new_rows) -> absl::Status {
    std::vector<float> values(static_cast<size_t>(base.specs[spec].size));
    RETURN_IF_ERROR(read(spec, absl::MakeSpan(values)));
    InitializeRows(grown.vocab_size, grown.hidden_size, seed, spec, like_token, values.data());
    const ParameterSpec& to = layout.specs[new_rows];
    std::copy(values.end() - to.size, values.end(), parameters.begin() + to.offset);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(initialize(base.embedding, layout.new_rows.embedding));
  if (base.lm_head == base.embedding) return absl::OkStatus();
  return initialize(base.lm_head, layout.new_rows.lm_head);
}

}  // namespace reprise::models
