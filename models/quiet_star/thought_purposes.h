#ifndef MODELS_QUIET_STAR_THOUGHT_PURPOSES_H_
#define MODELS_QUIET_STAR_THOUGHT_PURPOSES_H_

// What thoughts are drawn with (core/random/draw.h).

#include "core/random/draw.h"

namespace reprise::models {

// Step, prompt, sample, turn: position in the text, token: one uniform per token of a thought.
inline constexpr Purpose kThought{15};

// Step, prompt, sample: what it is for, turn: position in the text, token: index. Lengths of thoughts, new rows of
// embeddings, dropout of the mixing head.
inline constexpr Purpose kThoughtNoise{16};

inline constexpr Purpose kEvaluationThought{17};  // like kThought, in evaluations

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_THOUGHT_PURPOSES_H_
