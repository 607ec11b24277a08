#ifndef MODELS_GENERATION_DRAW_TOKEN_H_
#define MODELS_GENERATION_DRAW_TOKEN_H_

// Draws one token of an action from its logits, and computes the probability with which it was drawn: under the
// sampling options, and before min_new_tokens without the end tokens.

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/sampling/sampling.h"
#include "models/generation/generate.h"

namespace reprise::models {

// Draws token number `at` of its action. uniform: in [0, 1). Overwrites the logits of the vocabulary. Log-probability
// and entropy are those of the whole distribution.
kernels::SampledToken DrawToken(const GenerateOptions& options, int64_t at, double uniform, absl::Span<float> logits,
                                kernels::SamplingWorkspace* workspace);

// Returns the behaviour_logprob that DrawToken computes for the token, the same bits; -infinity for a token that it
// never draws.
float BehaviourLogprob(const GenerateOptions& options, int64_t at, int32_t token, absl::Span<float> logits,
                       kernels::SamplingWorkspace* workspace);

}  // namespace reprise::models

#endif  // MODELS_GENERATION_DRAW_TOKEN_H_
