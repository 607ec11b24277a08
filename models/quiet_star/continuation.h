#ifndef MODELS_QUIET_STAR_CONTINUATION_H_
#define MODELS_QUIET_STAR_CONTINUATION_H_

// Continues texts token by token with thoughts: before each token the model thinks, and draws the token from the mixed
// distribution; or, for comparison, without thoughts.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/parallel/thread_pool.h"
#include "models/quiet_star/thought_pass.h"
#include "models/quiet_star/thought_sampler.h"

namespace reprise::models {

struct ContinuationOptions {
  int64_t max_tokens = 1;
  std::vector<int32_t> end_tokens = {};  // a text ends with one of them
  bool thinks = true;
  // Of the thoughts. num_thoughts must be 1; forbidden tokens and delimiters are not drawn as text either.
  ThoughtSampling thoughts = {};
};

struct Continuation {
  std::vector<int32_t> tokens;    // with the end token, if one was drawn
  std::vector<float> logprobs;    // of the tokens, at temperature 1
  std::vector<Thought> thoughts;  // one before each token; empty without thoughts
};

// Continues each text greedily (ties by lowest index). tokens: of text `index`, as a coordinate of the thoughts' draws;
// `positions` is not read. Text + max_tokens + max_length + 2 must not exceed the model's positions.
std::vector<Continuation> ContinueTexts(const ThoughtNetwork& network, absl::Span<const ThinkingText> texts,
                                        const ContinuationOptions& options, ThreadPool& pool);

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_CONTINUATION_H_
