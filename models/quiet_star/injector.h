#ifndef MODELS_QUIET_STAR_INJECTOR_H_
#define MODELS_QUIET_STAR_INJECTOR_H_

// Where a model thinks, as an option beside thinking after every token: where the text is difficult.
//
//   difficulty = 0.4 entropy / ln V + 0.3 dispersion + 0.3 min(error, 10) / 10
//
// of the next token's distribution, of the attention, and of the token's loss. Terms that are not available are left
// out and the weights of the others are divided by their sum, so that the threshold can be reached without them. Each
// text is decided for itself, from its first token on.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace reprise::models {

struct InjectorOptions {
  double threshold = 0.6;
  int64_t interval = 3;  // tokens from one thinking position to the next, at least
  double entropy_weight = 0.4, dispersion_weight = 0.3, error_weight = 0.3;
};

// By text position, as many each: entropies (nats) of the next token's distribution; normalised entropies of the
// attention, in [0, 1], and losses of the next token (nats), either of which may be empty.
struct DifficultyTerms {
  absl::Span<const float> entropy_S, dispersion_S, error_S;
};

// Returns the difficulty of each position, in [0, 1].
std::vector<double> DifficultiesOf(const InjectorOptions& options, int64_t vocabulary, const DifficultyTerms& terms);

// Returns the positions after which to think, ascending: those whose difficulty exceeds the threshold, at least
// `interval` after the last one.
std::vector<int64_t> ThinkingPositions(const InjectorOptions& options, int64_t vocabulary,
                                       const DifficultyTerms& terms);

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_INJECTOR_H_
