#include "models/quiet_star/thought_batch.h"

#include <algorithm>

#include "core/status/check.h"

namespace reprise::models {
namespace {

int64_t Count(absl::Span<const int32_t> tokens) { return static_cast<int64_t>(tokens.size()); }

// Returns the end of the thoughts that are mixed together with thought k.
size_t EndOfGroup(absl::Span<const Thought> thoughts, size_t k, bool joint) {
  size_t end = k + 1;
  while (joint && end < thoughts.size() && thoughts[end].position == thoughts[k].position) ++end;
  return end;
}

// Packs one batch.
class Packer {
 public:
  Packer(const ThoughtRowsOptions& options, ThoughtRows* rows) : options_(options), rows_(*rows) {}

  void Append(const ThoughtfulText& text, const TextPart& part) {
    const absl::Span<const Thought> thoughts = text.thoughts.subspan(
        static_cast<size_t>(part.first_thought), static_cast<size_t>(part.last_thought - part.first_thought));
    int64_t thought_rows = 0;
    for (const Thought& thought : thoughts) {
      thought_rows += RowsOfThought(thought, Count(text.tokens), options_.tokens_ahead);
    }
    const int64_t text_segment = static_cast<int64_t>(rows_.batch.segments.size() + thoughts.size());
    // The first row of the text, in this batch or outside.
    const int64_t text_begin = part.with_text ? rows_.batch.rows() + thought_rows : 0;
    for (size_t k = 0; k < thoughts.size();) {
      const size_t end = EndOfGroup(thoughts, k, options_.joint);
      const int64_t first = static_cast<int64_t>(rows_.thought_K.size());
      for (size_t i = k; i < end; ++i) {
        AppendThought(text.tokens, thoughts[i], part.with_text ? text_segment : kOutsidePrefix, text_begin);
      }
      AppendSites(text, thoughts[k].position, first);
      k = end;
    }
    if (part.with_text) AppendText(text);
  }

 private:
  void AppendRow(int32_t token, int64_t position) {
    rows_.batch.token_T.push_back(token);
    rows_.batch.position_T.push_back(static_cast<int32_t>(position));
  }

  void AppendScored(Predicts predicts, int64_t row, int32_t target) {
    rows_.predicts_R.push_back(predicts);
    rows_.row_R.push_back(row);
    rows_.target_R.push_back(target);
    rows_.temperature_R.push_back(predicts == Predicts::kThought ? options_.temperature : 1.0f);
  }

  void AppendThought(absl::Span<const int32_t> text, const Thought& thought, int64_t prefix, int64_t text_begin) {
    CHECK(!thought.tokens.empty());
    CHECK(thought.position >= 0 && thought.position + 1 < Count(text));
    const int64_t begin = rows_.batch.rows(), next = thought.position + 1;
    const int64_t ahead = TokensAhead(thought.position, Count(text), options_.tokens_ahead);
    const int64_t rows = RowsOfThought(thought, Count(text), options_.tokens_ahead);
    rows_.batch.segments.push_back({begin, rows, prefix, next});
    int64_t position = next;
    rows_.thought_K.push_back({rows_.scored(), begin + 1, Count(thought.tokens), text_begin + thought.position,
                               static_cast<int64_t>(rows_.scored_X.size()), ahead});
    AppendRow(options_.delimiters.start, position++);
    for (const int32_t token : thought.tokens) {
      AppendScored(Predicts::kThought, rows_.batch.rows() - 1, token);
      AppendRow(token, position++);
    }
    AppendRow(options_.delimiters.end, position++);
    for (int64_t j = 1; j < ahead; ++j) AppendRow(text[thought.position + j], position++);
    CHECK_EQ(rows_.batch.rows(), begin + rows);
  }

  // Appends the mixtures with the thoughts from `first` on, which are all about one position.
  void AppendSites(const ThoughtfulText& text, int64_t position, int64_t first) {
    const int64_t last = static_cast<int64_t>(rows_.thought_K.size());
    const ThoughtPlace place = rows_.thought_K[first];
    const int64_t first_site = static_cast<int64_t>(rows_.scored_X.size());
    for (int64_t j = 0; j < place.ahead; ++j) {
      rows_.scored_X.push_back(rows_.scored());
      rows_.text_row_X.push_back(place.text_row + j);
      for (int64_t k = first; k < last; ++k) {
        ThoughtPlace& of_thought = rows_.thought_K[k];
        of_thought.first_site = first_site;
        rows_.row_Y.push_back(of_thought.first_token + of_thought.tokens + j);
        rows_.thought_Y.push_back(k);
        rows_.draw_Y.push_back({.prompt = text.index,
                                .sample = static_cast<uint64_t>(k - first),
                                .turn = static_cast<uint64_t>(position),
                                .token = static_cast<uint64_t>(j)});
      }
      rows_.first_Y.push_back(static_cast<int64_t>(rows_.row_Y.size()));
      AppendScored(Predicts::kMixed, -1, text.tokens[position + 1 + j]);
    }
  }

  void AppendText(const ThoughtfulText& text) {
    const int64_t begin = rows_.batch.rows();
    rows_.batch.segments.push_back({begin, Count(text.tokens)});
    for (int64_t s = 0; s < Count(text.tokens); ++s) {
      AppendRow(text.tokens[s], s);
      if (s + 1 < Count(text.tokens)) {
        AppendScored(Predicts::kText, begin + s, text.tokens[s + 1]);
      }
    }
    for (const int64_t position : DistinctPositions(text.thoughts)) rows_.value_row_M.push_back(begin + position);
  }

  const ThoughtRowsOptions& options_;
  ThoughtRows& rows_;
};

}  // namespace

std::vector<int64_t> DistinctPositions(absl::Span<const Thought> thoughts) {
  std::vector<int64_t> positions;
  for (const Thought& thought : thoughts) {
    if (positions.empty() || positions.back() != thought.position) positions.push_back(thought.position);
  }
  CHECK(std::ranges::is_sorted(positions));
  return positions;
}

std::vector<BatchPlan> PlanBatches(absl::Span<const ThoughtfulText> texts, const ThoughtRowsOptions& options,
                                   int64_t max_rows) {
  std::vector<BatchPlan> plan;
  int64_t rows = 0;         // of the last batch
  bool may_extend = false;  // whether the last batch is of whole texts
  for (size_t t = 0; t < texts.size(); ++t) {
    const ThoughtfulText& text = texts[t];
    const int64_t own = RowsOf({&text, 1}, options.tokens_ahead), thoughts = static_cast<int64_t>(text.thoughts.size());
    const int64_t index = static_cast<int64_t>(t);
    if (max_rows == 0 || own <= max_rows || thoughts == 0) {
      if (!may_extend || (max_rows > 0 && rows + own > max_rows)) {
        plan.emplace_back();
        rows = 0;
      }
      plan.back().parts.push_back({index, 0, thoughts, true});
      rows += own;
      may_extend = true;
      continue;
    }
    may_extend = false;
    for (int64_t k = 0; k < thoughts;) {
      const int64_t end = static_cast<int64_t>(EndOfGroup(text.thoughts, static_cast<size_t>(k), options.joint));
      int64_t of_group = 0;
      for (int64_t i = k; i < end; ++i) {
        of_group += RowsOfThought(text.thoughts[i], Count(text.tokens), options.tokens_ahead);
      }
      if (k == 0 || rows + of_group > max_rows) {
        plan.push_back({{{index, k, k, false}}, true});
        rows = 0;
      }
      plan.back().parts.back().last_thought = k = end;
      rows += of_group;
    }
    plan.push_back({{{index, thoughts, thoughts, true}}, true});
  }
  return plan;
}

ThoughtRows PackThoughts(absl::Span<const ThoughtfulText> texts, const BatchPlan& plan,
                         const ThoughtRowsOptions& options) {
  ThoughtRows rows;
  Packer packer(options, &rows);
  for (const TextPart& part : plan.parts) {
    packer.Append(texts[part.text], part);
    rows.first_scored_P.push_back(rows.scored());
    rows.first_thought_P.push_back(static_cast<int64_t>(rows.thought_K.size()));
    rows.first_value_P.push_back(static_cast<int64_t>(rows.value_row_M.size()));
  }
  return rows;
}

int64_t RowsOf(absl::Span<const ThoughtfulText> texts, int64_t tokens_ahead) {
  int64_t rows = 0;
  for (const ThoughtfulText& text : texts) {
    rows += Count(text.tokens);
    for (const Thought& thought : text.thoughts) rows += RowsOfThought(thought, Count(text.tokens), tokens_ahead);
  }
  return rows;
}

}  // namespace reprise::models
