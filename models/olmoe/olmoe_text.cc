// What an OlmoeModel does with texts: it encodes them and continues them.

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/parallel/team.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "kernels/products/products.h"
#include "kernels/rows/mean_rows.h"
#include "models/decoder/inference.h"
#include "models/generation/generate.h"
#include "models/olmoe/olmoe_model.h"

namespace reprise::models {
namespace {

constexpr int64_t kRowsOfBatch = 1024;  // a batch ends with the sequence that reaches it

// Computes the means of the hidden states of each sequence.
void EncodeBatch(const Decoder& decoder, absl::Span<const std::vector<int32_t>> token_BS, const Team& team,
                 Activations* workspace, const kernels::Rows& mean_BD) {
  CachedBatch batch;
  std::vector<KeyValueCache> caches;
  caches.reserve(token_BS.size());
  for (const std::vector<int32_t>& token_S : token_BS) {
    const int64_t rows = static_cast<int64_t>(token_S.size());
    caches.emplace_back(decoder.config, rows);
    batch.runs.push_back({batch.rows.rows(), rows, &caches.back(), nullptr});
    batch.rows.token_T.insert(batch.rows.token_T.end(), token_S.begin(), token_S.end());
    for (int64_t i = 0; i < rows; ++i) batch.rows.position_T.push_back(static_cast<int32_t>(i));
  }
  ForwardCached(decoder, batch, workspace, nullptr, team);
  for (size_t b = 0; b < batch.runs.size(); ++b) {
    const CachedRun& run = batch.runs[b];
    kernels::MeanOfRows(workspace->hidden_TD().Slice({run.begin, run.begin + run.rows}),
                        mean_BD[static_cast<int64_t>(b)]);
  }
}

// Returns the means of the hidden states of all sequences, [B, D].
std::vector<float> MeanHidden(const Decoder& decoder, absl::Span<const std::vector<int32_t>> token_BS,
                              const Team& team) {
  const int64_t width = decoder.config.hidden_size;
  std::vector<float> means(token_BS.size() * static_cast<size_t>(width));
  const kernels::Rows mean_BD = {means.data(), static_cast<int64_t>(token_BS.size()), width};
  Activations workspace(decoder.config, /*training=*/false);
  size_t begin = 0;
  while (begin < token_BS.size()) {
    size_t end = begin;
    for (int64_t rows = 0; end < token_BS.size() && rows < kRowsOfBatch; ++end) {
      rows += static_cast<int64_t>(token_BS[end].size());
    }
    EncodeBatch(decoder, token_BS.subspan(begin, end - begin), team, &workspace,
                mean_BD.Slice({static_cast<int64_t>(begin), static_cast<int64_t>(end)}));
    begin = end;
  }
  return means;
}

std::vector<std::vector<float>> RowsOf(const std::vector<float>& values, size_t rows) {
  std::vector<std::vector<float>> result;
  const size_t width = rows == 0 ? 0 : values.size() / rows;
  for (size_t r = 0; r < rows; ++r) {
    result.emplace_back(values.begin() + static_cast<int64_t>(r * width),
                        values.begin() + static_cast<int64_t>((r + 1) * width));
  }
  return result;
}

absl::Status CheckTokens(const DecoderConfig& config, const std::vector<int32_t>& tokens) {
  if (tokens.empty()) return absl::InvalidArgumentError("there are no tokens, of which a mean could be taken");
  if (static_cast<int64_t>(tokens.size()) > config.max_position_embeddings) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", tokens.size(), " tokens, but the model has ",
                                                   config.max_position_embeddings, " positions"));
  }
  for (const int32_t token : tokens) {
    if (token >= 0 && token < config.vocab_size) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("token ", token, " is not in the vocabulary of ", config.vocab_size, " tokens"));
  }
  return absl::OkStatus();
}

absl::Status CheckGenerating(const GenerateTextOptions& wanted, const kernels::SamplingOptions& sampling,
                             int64_t prompt_tokens, int64_t positions) {
  if (wanted.max_new_tokens < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_new_tokens is ", wanted.max_new_tokens, "; it must be at least 1"));
  }
  if (!(sampling.temperature >= 1e-6f && sampling.temperature <= 1e6f)) {
    return absl::InvalidArgumentError(
        absl::StrCat("temperature is ", sampling.temperature, "; it must be between 1e-6 and 1e6"));
  }
  if (!(sampling.top_p > 0 && sampling.top_p <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("top_p is ", sampling.top_p, "; it must be above 0 and at most 1"));
  }
  if (sampling.top_k < 0) {
    return absl::InvalidArgumentError(absl::StrCat("top_k is ", sampling.top_k, "; it must be at least 0"));
  }
  if (wanted.sample >> 32 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("sample is ", wanted.sample, "; it must be below 2^32"));
  }
  if (prompt_tokens == 0) return absl::InvalidArgumentError("the prompt is empty: there is nothing to continue");
  if (wanted.max_new_tokens <= positions - prompt_tokens) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the prompt's ", prompt_tokens, " tokens and max_new_tokens ",
                                                 wanted.max_new_tokens, " exceed the model's ", positions,
                                                 " positions: shorten the prompt or lower max_new_tokens"));
}

}  // namespace

absl::StatusOr<std::vector<int32_t>> OlmoeModel::TokensOf(absl::string_view text) const {
  if (!is_loaded()) return absl::FailedPreconditionError(kModelNotLoaded);
  ASSIGN_OR_RETURN(std::vector<int32_t> tokens, tokenizer_->Encode(text));
  if (tokens.empty()) {
    return absl::InvalidArgumentError("the text is empty: it has no tokens, of which a mean could be taken");
  }
  const int64_t most = std::min(options_.max_length, model_->config().max_position_embeddings);
  tokens.resize(std::min(tokens.size(), static_cast<size_t>(most)));
  return tokens;
}

absl::StatusOr<std::vector<std::vector<int32_t>>> OlmoeModel::TokensOf(absl::Span<const std::string> texts) const {
  if (!is_loaded()) return absl::FailedPreconditionError(kModelNotLoaded);
  std::vector<std::vector<int32_t>> tokens_BS;
  for (size_t b = 0; b < texts.size(); ++b) {
    absl::StatusOr<std::vector<int32_t>> tokens = TokensOf(texts[b]);
    if (!tokens.ok()) return WithContext(tokens.status(), absl::StrCat("text ", b));
    tokens_BS.push_back(*std::move(tokens));
  }
  return tokens_BS;
}

absl::StatusOr<std::vector<std::vector<float>>> OlmoeModel::EncodeTokens(
    absl::Span<const std::vector<int32_t>> tokens_BS) const {
  if (!is_loaded()) return absl::FailedPreconditionError(kModelNotLoaded);
  const DecoderConfig& config = model_->config();
  for (size_t b = 0; b < tokens_BS.size(); ++b) {
    RETURN_IF_ERROR(WithContext(CheckTokens(config, tokens_BS[b]), absl::StrCat("text ", b)));
  }
  const std::vector<float> means = MeanHidden(model_->decoder(), tokens_BS, Team(*pool_));
  if (backend_ == Backend::kTrainable) return RowsOf(means, tokens_BS.size());
  // The mean of the logits is that of the hidden states times the lm-head, which is linear.
  const int64_t rows = static_cast<int64_t>(tokens_BS.size());
  std::vector<float> logits(tokens_BS.size() * static_cast<size_t>(config.vocab_size));
  kernels::Product({means.data(), rows, config.hidden_size}, model_->decoder().weights.lm_head(),
                   {logits.data(), rows, config.vocab_size});
  return RowsOf(logits, tokens_BS.size());
}

absl::StatusOr<std::vector<float>> OlmoeModel::Encode(absl::string_view text) const {
  ASSIGN_OR_RETURN(std::vector<int32_t> tokens, TokensOf(text));
  ASSIGN_OR_RETURN(std::vector<std::vector<float>> rows, EncodeTokens({std::move(tokens)}));
  return std::move(rows[0]);
}

absl::StatusOr<std::vector<std::vector<float>>> OlmoeModel::Encode(absl::Span<const std::string> texts) const {
  ASSIGN_OR_RETURN(const std::vector<std::vector<int32_t>> tokens_BS, TokensOf(texts));
  return EncodeTokens(tokens_BS);
}

absl::StatusOr<std::vector<float>> OlmoeModel::Embed(absl::string_view text) const {
  ASSIGN_OR_RETURN(std::vector<int32_t> tokens, TokensOf(text));
  return MeanHidden(model_->decoder(), {std::move(tokens)}, Team(*pool_));
}

absl::StatusOr<std::string> OlmoeModel::Generate(absl::string_view prompt, const GenerateTextOptions& wanted) const {
  if (!is_loaded()) return absl::FailedPreconditionError(kModelNotLoaded);
  ASSIGN_OR_RETURN(const std::vector<int32_t> tokens, tokenizer_->Encode(prompt));
  GenerateOptions options;
  options.max_completion_length = wanted.max_new_tokens;
  options.sampling = {.temperature = wanted.temperature.value_or(options_.temperature),
                      .top_k = wanted.top_k.value_or(options_.top_k),
                      .top_p = wanted.top_p.value_or(options_.top_p),
                      .greedy = !options_.do_sample};
  options.end_tokens = end_tokens_;
  options.seed = options_.seed;
  options.step = wanted.sample;
  RETURN_IF_ERROR(CheckGenerating(wanted, options.sampling, static_cast<int64_t>(tokens.size()),
                                  model_->config().max_position_embeddings));
  const Prompt prompts[] = {{.tokens = tokens}};
  const GenerateResult result = models::Generate(model_->decoder(), prompts, options, *pool_);
  const std::string text = tokenizer_->Decode(result.completions[0].tokens, Tokenizer::SpecialTokens::kSkip);
  return std::string(absl::StripAsciiWhitespace(text));
}

}  // namespace reprise::models
