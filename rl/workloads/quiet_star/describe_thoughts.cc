#include "rl/workloads/quiet_star/describe_thoughts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/status/check.h"
#include "core/status/printable.h"
#include "models/quiet_star/thinking_tokens.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/workloads/completions/model_files.h"
#include "rl/workloads/quiet_star/thought_texts.h"

namespace reprise::rl {
namespace {

// Shows tokens in quotation marks, or as ids in brackets where there is no tokenizer or they are none of its.
class Shower {
 public:
  explicit Shower(const Config& config) {
    absl::StatusOr<models::Tokenizer> tokenizer = LoadTokenizer(config.model);
    const absl::StatusOr<models::DecoderConfig> decoder = ReadDecoderConfig(config.model);
    if (!tokenizer.ok() || !decoder.ok()) return;
    const models::DecoderConfig grown = models::WithThinkingTokens(*decoder);
    tokenizer_.emplace(*std::move(tokenizer));
    absl::StatusOr<ThoughtTexts> texts = ThoughtTexts::Create(config, *tokenizer_, grown);
    if (!texts.ok()) return;
    vocabulary_ = grown.vocab_size;
    texts_.emplace(*std::move(texts));
  }

  std::string Shown(absl::Span<const int32_t> tokens) const {
    const auto is_known = [&](int32_t token) { return token >= 0 && token < vocabulary_; };
    if (!texts_ || !std::all_of(tokens.begin(), tokens.end(), is_known)) {
      return absl::StrCat("[", absl::StrJoin(tokens, " "), "]");
    }
    return Quoted(texts_->Shown(tokens), kMostBytes);
  }

 private:
  static constexpr size_t kMostBytes = 2000;

  std::optional<models::Tokenizer> tokenizer_;
  std::optional<ThoughtTexts> texts_;  // refers to the tokenizer
  int64_t vocabulary_ = 0;
};

// A table of the step, by the names of its columns.
class Table {
 public:
  Table(const StepTables& step, absl::string_view name) {
    for (const StreamTable& table : step.tables) {
      if (table.schema().name == name) table_ = &table;
    }
    CHECK(table_ != nullptr);
  }

  int64_t rows() const { return table_->rows(); }
  int64_t Integer(absl::string_view column, int64_t row) const { return table_->Row<int64_t>(At(column), row)[0]; }
  double Number(absl::string_view column, int64_t row) const { return table_->Row<double>(At(column), row)[0]; }
  absl::Span<const int32_t> Tokens(int64_t row) const { return table_->Row<int32_t>(At("tokens"), row); }

 private:
  int At(absl::string_view column) const { return FindColumn(table_->schema(), column).value(); }

  const StreamTable* table_ = nullptr;
};

}  // namespace

absl::StatusOr<std::string> DescribeThoughtStep(const Config& config, const StepTables& step) {
  const Shower shower(config);
  const Table tasks(step, "tasks"), thoughts(step, "thoughts");
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> rows_at;  // by prompt and position
  for (int64_t row = 0; row < thoughts.rows(); ++row) {
    rows_at[{thoughts.Integer("prompt", row), thoughts.Integer("position", row)}].push_back(row);
  }
  std::string shown;
  for (int64_t task = 0; task < tasks.rows(); ++task) {
    const int64_t prompt = tasks.Integer("prompt", task);
    const absl::Span<const int32_t> text = tasks.Tokens(task);
    absl::StrAppend(&shown, "text ", prompt, " ", shower.Shown(text), "\n");
    for (auto at = rows_at.lower_bound({prompt, 0}); at != rows_at.end() && at->first.first == prompt; ++at) {
      const size_t position = static_cast<size_t>(at->first.second);
      absl::StrAppend(&shown, "  position ", position, " behind ", shower.Shown(text.subspan(position, 1)), "\n");
      for (const int64_t row : at->second) {
        absl::StrAppendFormat(&shown, "    sample %d %s reward %.4f, advantage %.4f\n", thoughts.Integer("sample", row),
                              shower.Shown(thoughts.Tokens(row)), thoughts.Number("earned", row),
                              thoughts.Number("advantage", row));
      }
    }
  }
  return absl::StrCat(shown, "\n");
}

}  // namespace reprise::rl
