#ifndef MODELS_QUIET_STAR_MEMORY_H_
#define MODELS_QUIET_STAR_MEMORY_H_

// How much memory thinking takes, beside the model: what `validate` prints before a run.

#include <cstdint>

#include "models/decoder/config.h"

namespace reprise::models {

// The greatest sizes. Texts have `positions` thinking positions each.
struct ThoughtSizes {
  int64_t texts = 1;  // of a call, or of a shard
  int64_t text_tokens = 2, positions = 1, num_thoughts = 1;
  int64_t max_length = 1;    // tokens of a thought
  int64_t tokens_ahead = 1;  // n_true

  int64_t thoughts() const { return positions * num_thoughts; }  // of a text
};

// Rows of a pass over all texts, and of its largest batch, of max_rows (0: the whole shard is one batch).
int64_t ThoughtRowsOf(const ThoughtSizes& sizes);
int64_t ThoughtBatchRows(const ThoughtSizes& sizes, int64_t max_rows);

// Bytes of SampleThoughts: keys and values of texts and thoughts, the rows that decode at once, and their logits.
// slots: thoughts at once (0: all).
int64_t ThoughtSamplingBytes(const DecoderConfig& config, const ThoughtSizes& sizes, int64_t slots);

// Bytes of the activations of AccumulateThoughts, with batches of max_rows (0: the whole shard is one batch). A text
// that is cut has its own activations, and the reference's if there is one.
int64_t ThoughtPassBytes(const DecoderConfig& config, const ThoughtSizes& sizes, int64_t max_rows, bool recompute,
                         bool has_reference);

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_MEMORY_H_
