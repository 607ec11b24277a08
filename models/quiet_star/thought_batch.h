#ifndef MODELS_QUIET_STAR_THOUGHT_BATCH_H_
#define MODELS_QUIET_STAR_THOUGHT_BATCH_H_

// Texts with thoughts as packed batches of the decoder, and which rows of these predict what.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/random/draw.h"
#include "models/decoder/batch.h"
#include "models/quiet_star/thought.h"

namespace reprise::models {

// A part of a text within a batch: some of its thoughts, and the text itself behind them or in another batch.
struct TextPart {
  int64_t text = 0;  // index
  int64_t first_thought = 0, last_thought = 0;
  bool with_text = true;

  bool operator==(const TextPart&) const = default;
};

// A batch is whole texts, or a part of one that is cut: some thoughts, whose text is outside, or at last the text
// alone.
struct BatchPlan {
  std::vector<TextPart> parts;
  bool is_cut = false;
};

struct ThoughtRowsOptions {
  ThoughtDelimiters delimiters = {};
  int64_t tokens_ahead = 1;
  float temperature = 1;
  bool joint = false;  // whether the thoughts of a position are mixed together, and not each by itself
};

// Divides a shard, in canonical order. Texts are packed until a batch would have more than max_rows (0: no limit); a
// text that has more by itself is cut between thoughts, where they are joint between positions. Batches of one text are
// consecutive. No texts: no batches.
std::vector<BatchPlan> PlanBatches(absl::Span<const ThoughtfulText> texts, const ThoughtRowsOptions& options,
                                   int64_t max_rows);

// What a scored row predicts: the next token of a thought, a text token behind thoughts (from a mixture of the
// thought's row, or the rows of all thoughts of a position, and the text's row), or a text token without thoughts.
enum class Predicts : uint8_t { kThought, kMixed, kText };

// Where a thought is in a batch.
struct ThoughtPlace {
  int64_t first_scored = 0;             // the scored row that predicts its first token
  int64_t first_token = 0, tokens = 0;  // rows of its tokens
  int64_t text_row = 0;                 // of its position: of this batch, or of the outside
  int64_t first_site = 0, ahead = 0;    // the mixtures with it
};

// The rows of a batch, and those of them that predict something, in canonical order.
struct ThoughtRows {
  PackedBatch batch;
  std::vector<Predicts> predicts_R;
  std::vector<int64_t> row_R;     // of the batch; -1 where mixed
  std::vector<int32_t> target_R;  // the token that it predicts
  std::vector<float> temperature_R;
  // Mixtures, the sites of thoughts: the scored row, the row of the text that is mixed in (of this batch, or of the
  // outside), and the thoughts' rows from first_Y[x] to first_Y[x + 1].
  std::vector<int64_t> scored_X, text_row_X, first_Y = {0};
  std::vector<int64_t> row_Y, thought_Y;  // of each: row of the batch, and which thought of the batch it is of
  std::vector<DrawAt> draw_Y;             // of each, of its dropout
  std::vector<ThoughtPlace> thought_K;
  std::vector<int64_t> value_row_M;  // the rows of distinct thinking positions, of the texts that are in this batch
  // Of part p of the plan: its scored rows, thoughts and values are those from first[p] to first[p + 1].
  std::vector<int64_t> first_scored_P = {0}, first_thought_P = {0}, first_value_P = {0};

  int64_t scored() const { return static_cast<int64_t>(row_R.size()); }
};

ThoughtRows PackThoughts(absl::Span<const ThoughtfulText> texts, const BatchPlan& plan,
                         const ThoughtRowsOptions& options);

// Rows that passes over the texts compute: all thoughts' and texts' rows.
int64_t RowsOf(absl::Span<const ThoughtfulText> texts, int64_t tokens_ahead);

// The positions of a text's thoughts, each once, ascending.
std::vector<int64_t> DistinctPositions(absl::Span<const Thought> thoughts);

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_THOUGHT_BATCH_H_
