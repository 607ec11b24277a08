#include "pipelines/stored/token_text.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/digest/sha256.h"
#include "core/status/status_macros.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise {
namespace {

// Whether the run started from a model with this tokenizer.json.
bool UsesTokenizer(const StoredRun& run, const models::Tokenizer& tokenizer) {
  for (const ExternalFile& file : run.reader->header().external_files) {
    if (file.name == "model/tokenizer.json") return file.sha256 == Sha256(tokenizer.json());
  }
  return false;
}

}  // namespace

absl::StatusOr<TokenText> TokenText::For(const StoredRun& run, const std::string& model_path) {
  TokenText text;
  rl::ModelConfig model = run.config.model;
  const bool from_scratch = model.path.empty();
  if (!from_scratch && model_path.empty()) return text;
  if (!from_scratch) model.path = model_path;
  ASSIGN_OR_RETURN(models::Tokenizer tokenizer, rl::LoadTokenizer(model));
  text.tokenizer_ = std::make_shared<const models::Tokenizer>(std::move(tokenizer));
  if (!from_scratch && !UsesTokenizer(run, *text.tokenizer_)) {
    return absl::FailedPreconditionError(
        absl::StrCat(model_path, ": its tokenizer.json is not the one that the run started from"));
  }
  return text;
}

TokenText TokenText::Of(const models::Tokenizer* tokenizer) {
  TokenText text;
  text.tokenizer_ = std::shared_ptr<const models::Tokenizer>(std::shared_ptr<void>(), tokenizer);
  return text;
}

std::string TokenText::Shown(absl::Span<const int32_t> tokens) const {
  if (!tokenizer_) return absl::StrCat("[", absl::StrJoin(tokens, " "), "]");
  return absl::StrCat("\"", absl::Utf8SafeCEscape(tokenizer_->Decode(tokens)), "\"");
}

std::string TokenText::Plain(absl::Span<const int32_t> tokens) const {
  return tokenizer_ ? tokenizer_->Decode(tokens) : "";
}

}  // namespace reprise
