#include "models/quiet_star/memory.h"

#include <algorithm>

#include "models/decoder/activations.h"
#include "models/decoder/inference.h"

namespace reprise::models {
namespace {

constexpr int64_t kFloat = static_cast<int64_t>(sizeof(float));

int64_t RowsOfThought(const ThoughtSizes& sizes) { return 1 + sizes.max_length + sizes.tokens_ahead; }
int64_t RowsOfText(const ThoughtSizes& sizes) { return sizes.text_tokens + sizes.thoughts() * RowsOfThought(sizes); }

}  // namespace

int64_t ThoughtRowsOf(const ThoughtSizes& sizes) { return sizes.texts * RowsOfText(sizes); }

int64_t ThoughtBatchRows(const ThoughtSizes& sizes, int64_t max_rows) {
  const int64_t all = ThoughtRowsOf(sizes);
  if (max_rows == 0) return all;
  // A thought, or a text alone, is never cut.
  return std::min(all, std::max({max_rows, RowsOfThought(sizes), sizes.text_tokens}));
}

int64_t ThoughtSamplingBytes(const DecoderConfig& config, const ThoughtSizes& sizes, int64_t slots) {
  const int64_t all = sizes.texts * sizes.thoughts(), thoughts = slots == 0 ? all : std::min(slots, all);
  // The texts of the thoughts in the slots; a first and a last one may be there in part only.
  const int64_t texts = std::min(sizes.texts, (thoughts + sizes.thoughts() - 1) / sizes.thoughts() + 1);
  const int64_t caches = texts * KeyValueCache::Floats(config, sizes.text_tokens) +
                         thoughts * KeyValueCache::Floats(config, sizes.max_length);
  const int64_t rows = std::max(texts * sizes.text_tokens, thoughts);
  const int64_t row = Activations::FloatsPerRow(config, /*training=*/false);
  return kFloat * (caches + rows * row + thoughts * config.vocab_size);
}

int64_t ThoughtPassBytes(const DecoderConfig& config, const ThoughtSizes& sizes, int64_t max_rows, bool recompute,
                         bool has_reference) {
  const bool is_cut = max_rows > 0 && RowsOfText(sizes) > max_rows;
  const int64_t rows = ThoughtBatchRows(sizes, max_rows);
  const int64_t batch = rows * Activations::FloatsPerRow(config, /*training=*/true, recompute);
  const int64_t text = is_cut ? sizes.text_tokens * Activations::FloatsPerRow(config, /*training=*/true) : 0;
  // Of every scored row: its own, mixed and reference's hidden states, and the gradients of these.
  const int64_t heads = 10 * (rows + sizes.text_tokens) * config.hidden_size;
  return kFloat * (batch + text * (has_reference ? 2 : 1) + heads);
}

}  // namespace reprise::models
