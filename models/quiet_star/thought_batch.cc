#include "models/quiet_star/thought_batch.h"

#include <algorithm>

#include "core/status/check.h"

namespace reprise::models {
namespace {

int64_t Count(absl::Span<const int32_t> tokens) { return static_cast<int64_t>(tokens.size()); }

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
    for (const Thought& thought : thoughts) {
      AppendThought(text.tokens, thought, part.with_text ? text_segment : kOutsidePrefix, text_begin);
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
    AppendRow(options_.delimiters.start, position++);
    for (const int32_t token : thought.tokens) {
      AppendScored(Predicts::kThought, rows_.batch.rows() - 1, token);
      AppendRow(token, position++);
    }
    AppendRow(options_.delimiters.end, position++);
    for (int64_t j = 0; j < ahead; ++j) {
      const int32_t target = text[static_cast<size_t>(next + j)];
      rows_.scored_X.push_back(rows_.scored());
      rows_.text_row_X.push_back(text_begin + thought.position + j);
      AppendScored(Predicts::kMixed, rows_.batch.rows() - 1, target);
      if (j + 1 < ahead) AppendRow(target, position++);
    }
    CHECK_EQ(rows_.batch.rows(), begin + rows);
  }

  void AppendText(const ThoughtfulText& text) {
    const int64_t begin = rows_.batch.rows();
    rows_.batch.segments.push_back({begin, Count(text.tokens)});
    for (int64_t s = 0; s < Count(text.tokens); ++s) {
      AppendRow(text.tokens[static_cast<size_t>(s)], s);
      if (s + 1 < Count(text.tokens)) {
        AppendScored(Predicts::kText, begin + s, text.tokens[static_cast<size_t>(s + 1)]);
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

std::vector<BatchPlan> PlanBatches(absl::Span<const ThoughtfulText> texts, int64_t tokens_ahead, int64_t max_rows) {
  std::vector<BatchPlan> plan;
  int64_t rows = 0;         // of the last batch
  bool may_extend = false;  // whether the last batch is of whole texts
  for (size_t t = 0; t < texts.size(); ++t) {
    const ThoughtfulText& text = texts[t];
    const int64_t own = RowsOf({&text, 1}, tokens_ahead), thoughts = static_cast<int64_t>(text.thoughts.size());
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
    rows = max_rows;  // the first thought opens a batch
    for (int64_t k = 0; k < thoughts; ++k) {
      const int64_t of_thought =
          RowsOfThought(text.thoughts[static_cast<size_t>(k)], Count(text.tokens), tokens_ahead);
      if (rows + of_thought > max_rows || k == 0) {
        plan.push_back({{{index, k, k, false}}, true});
        rows = 0;
      }
      plan.back().parts.back().last_thought = k + 1;
      rows += of_thought;
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
    packer.Append(texts[static_cast<size_t>(part.text)], part);
    rows.first_scored_P.push_back(rows.scored());
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
