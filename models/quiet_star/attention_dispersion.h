#ifndef MODELS_QUIET_STAR_ATTENTION_DISPERSION_H_
#define MODELS_QUIET_STAR_ATTENTION_DISPERSION_H_

// How far the attention of a text's rows is spread over the text: a term of how difficult its next token is
// (injector.h).
//
//   dispersion of row s = mean over the query heads of the last layer of H_s / ln(s + 1)
//
// H_s is the entropy of the probabilities with which row s attends to rows 0 .. s; row 0, which has one to attend to,
// has dispersion 0. In double, from the layer's queries and keys: a score is a chain over the head's width, sums are
// chains over ascending rows, the mean is a chain over ascending heads. So a row's bits depend on the text up to it
// alone.

#include <cstddef>
#include <vector>

#include "models/decoder/activations.h"

namespace reprise::models {

// Returns one number in [0, 1] for each row but the last of a segment without prefix. The last layer must be the one
// that was computed last.
std::vector<float> AttentionDispersion(const Activations& activations, size_t segment);

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_ATTENTION_DISPERSION_H_
