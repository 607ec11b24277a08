#ifndef MODELS_QUIET_STAR_THINKING_TOKENS_H_
#define MODELS_QUIET_STAR_THINKING_TOKENS_H_

// The thinking tokens: eight rows that are added behind a model's vocabulary. The first two delimit thoughts.

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"
#include "models/decoder/weights.h"
#include "models/quiet_star/thought.h"

namespace reprise::models {

inline constexpr std::array<absl::string_view, 8> kThinkingTokens = {"<think>", "</think>",  "<step>",   "<reason>",
                                                                     "<mece>",  "<falsify>", "<expert>", "<doubt>"};

// Returns the configuration of the same model with the thinking tokens: their ids are the last of the vocabulary. With
// adapters their rows are trained.
DecoderConfig WithThinkingTokens(DecoderConfig config);

// Returns the ids in a vocabulary that ends with the thinking tokens.
ThoughtDelimiters DelimitersOf(const DecoderConfig& grown);
std::vector<int32_t> ThinkingTokenIds(const DecoderConfig& grown);

// Copies the parameters of a model without thinking tokens (layout MakeDecoderLayout(config), or a longer one) to the
// places of the same tensors in a model with them. Does not set the new rows, nor tensors that `from` lacks.
void CopyParameters(const DecoderLayout& from_layout, absl::Span<const float> from, const DecoderLayout& to_layout,
                    absl::Span<float> to);

// Sets the thinking tokens' rows of the embedding, and of an lm-head that is not tied to it: each column is normal with
// the mean and the standard deviation of the other rows' column. Where `like_token` >= 0 (the paper takes that of
// "---"), the delimiters' rows are copies of its rows instead. A pure function of seed and parameters.
void InitializeThinkingTokens(const DecoderConfig& grown, const DecoderLayout& layout, uint64_t seed,
                              int32_t like_token, absl::Span<float> parameters);

// The same for a model with adapters, whose layout has the new rows alone (DecoderConfig::new_rows); read: of the
// frozen model, whose layout is MakeBaseLayout(grown). The rows are those that a model without adapters begins with.
// Errors of `read`.
absl::Status InitializeNewRows(const DecoderConfig& grown, const DecoderLayout& layout, uint64_t seed,
                               int32_t like_token, const TensorReader& read, absl::Span<float> parameters);

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_THINKING_TOKENS_H_
