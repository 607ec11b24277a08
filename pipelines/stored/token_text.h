#ifndef PIPELINES_STORED_TOKEN_TEXT_H_
#define PIPELINES_STORED_TOKEN_TEXT_H_

// Shows tokens as text if a tokenizer is available, otherwise as ids.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "models/tokenizer/tokenizer.h"
#include "pipelines/stored/stored_run.h"

namespace reprise {

class TokenText {
 public:
  // Uses the tokenizer of a model from scratch, or that of `model_path`, which must be the run's initial model. Without
  // a path, tokens of runs of other models are shown as ids. FailedPrecondition for another tokenizer.
  static absl::StatusOr<TokenText> For(const StoredRun& run, const std::string& model_path);

  // Uses a tokenizer, which must outlive the result and may be null.
  static TokenText Of(const models::Tokenizer* tokenizer);

  bool has_tokenizer() const { return tokenizer_ != nullptr; }

  // "\"a\\n\"", or "[97 10]" without a tokenizer.
  std::string Shown(absl::Span<const int32_t> tokens) const;
  // The same without quotes and escapes; empty without a tokenizer.
  std::string Plain(absl::Span<const int32_t> tokens) const;

 private:
  std::shared_ptr<const models::Tokenizer> tokenizer_;
};

}  // namespace reprise

#endif  // PIPELINES_STORED_TOKEN_TEXT_H_
