#ifndef MODELS_QUIET_STAR_THOUGHT_SAMPLER_H_
#define MODELS_QUIET_STAR_THOUGHT_SAMPLER_H_

// Samples thoughts at many positions of texts at once. A text's keys and values are computed once, and all thoughts
// read them, each up to its own position: so the thoughts of all positions are decoded together, one token of each at a
// time. A thought depends on the text up to its position and on its draws alone: the same bits as from one position
// after the other, for any number of slots and threads.
//
// Delimiters and forbidden tokens are never drawn. Like top_p and top_k this restricts what is drawn: log-probabilities
// are those of the whole distribution at the temperature, behaviour_logprobs those under which tokens were drawn.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/parallel/thread_pool.h"
#include "core/random/draw.h"
#include "kernels/sampling/sampling.h"
#include "models/decoder/inference.h"
#include "models/quiet_star/thought.h"
#include "models/quiet_star/thought_purposes.h"

namespace reprise::models {

struct ThoughtSampling {
  int64_t num_thoughts = 1;                // K: at each position
  int64_t min_length = 1, max_length = 1;  // tokens without delimiters; drawn uniformly once for the K of a position
  ThoughtDelimiters delimiters = {};
  std::vector<int32_t> forbidden = {};  // never drawn, beside the delimiters
  kernels::SamplingOptions sampling = {};
  int64_t slots = 0;  // thoughts decoded at once; 0: all
  // Tokens are drawn by Draw(seed, purpose, step, prompt, sample: which of K, turn: position, token), the length of a
  // position's thoughts by Draw(seed, kThoughtNoise, step, prompt, sample: 1 in evaluations, else 0, turn: position).
  uint64_t seed = 0;
  Purpose purpose = kThought;
  uint64_t step = 0;
};

struct ThinkingText {
  absl::Span<const int32_t> tokens;     // at least one
  uint64_t index = 0;                   // within the step, over all ranks: `prompt` of the draws
  std::vector<int64_t> positions = {};  // of thoughts, ascending, each within the tokens
};

struct SampledThought {
  Thought thought;
  int64_t sample = 0;                     // which of the K thoughts of its position
  std::vector<float> logprobs;            // of the whole distribution at the temperature
  std::vector<float> entropies;           // nats; likewise
  std::vector<float> behaviour_logprobs;  // of the distribution that was drawn from
};

struct SampledThoughts {
  std::vector<std::vector<SampledThought>> by_text;  // in canonical order: by position, then by sample
  int64_t text_rows = 0, thought_rows = 0;           // rows through the decoder
};

struct ThoughtSamplerMemory;

// The memory of calls, reused across calls. For decoders of one configuration; used by one call at a time.
class ThoughtMemory {
 public:
  ThoughtMemory();
  ~ThoughtMemory();
  std::unique_ptr<ThoughtSamplerMemory>& room() { return room_; }

 private:
  std::unique_ptr<ThoughtSamplerMemory> room_;
};

// Text positions + 2 + max_length must not exceed the model's positions (checked by the caller). `memory` may be null.
SampledThoughts SampleThoughts(const Decoder& decoder, absl::Span<const ThinkingText> texts,
                               const ThoughtSampling& options, ThreadPool& pool, ThoughtMemory* memory = nullptr);

// Returns the length of the thoughts at a position of a text.
int64_t ThoughtLength(const ThoughtSampling& options, uint64_t text_index, int64_t position);

// Returns the behaviour_logprob that sampling computes for a token, the same bits; -infinity for a token that is never
// drawn. `logits` (of the whole vocabulary, before the temperature) are overwritten.
float ThoughtBehaviourLogprob(const ThoughtSampling& options, int32_t token, absl::Span<float> logits,
                              kernels::SamplingWorkspace* workspace);

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_THOUGHT_SAMPLER_H_
