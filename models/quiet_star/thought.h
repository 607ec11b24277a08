#ifndef MODELS_QUIET_STAR_THOUGHT_H_
#define MODELS_QUIET_STAR_THOUGHT_H_

// Thoughts between the tokens of a text (Quiet-STaR, Zelikman et al. 2024, arXiv 2403.09629). A thought after text
// token i is a sequence of its own that continues the text's first i + 1 tokens: the start token, the thought's tokens,
// the end token. Behind the end token it continues with the text itself: the row of the end token predicts text token
// i + 1, and the rows of text tokens i + 1, i + 2, ... which follow it predict those after them. It sees the text up to
// token i and itself, but neither other thoughts nor the text's own rows behind i.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace reprise::models {

struct ThoughtDelimiters {
  int32_t start = 0, end = 0;  // token ids

  bool operator==(const ThoughtDelimiters&) const = default;
};

struct Thought {
  int64_t position = 0;         // i: it follows text token i; 0 <= i < text tokens - 1
  std::vector<int32_t> tokens;  // at least one, without delimiters

  bool operator==(const Thought&) const = default;
};

// A text with its thoughts, as passes see it. The order of thoughts is their canonical order: by position, those of one
// position by sample.
struct ThoughtfulText {
  absl::Span<const int32_t> tokens;  // at least two
  absl::Span<const Thought> thoughts;
  uint64_t index = 0;  // within the step, over all ranks: `prompt` of draws; read where a pass drops probabilities
};

// How many text tokens a thought after token `position` of a text of S tokens predicts, of at most tokens_ahead.
inline int64_t TokensAhead(int64_t position, int64_t tokens_S, int64_t tokens_ahead) {
  return std::min(tokens_ahead, tokens_S - 1 - position);
}

// Rows of a thought through the decoder: delimiters, its tokens, and the text tokens behind it.
inline int64_t RowsOfThought(const Thought& thought, int64_t tokens_S, int64_t tokens_ahead) {
  return 1 + static_cast<int64_t>(thought.tokens.size()) + TokensAhead(thought.position, tokens_S, tokens_ahead);
}

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_THOUGHT_H_
