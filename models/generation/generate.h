#ifndef MODELS_GENERATION_GENERATE_H_
#define MODELS_GENERATION_GENERATE_H_

// Samples completions: continuous batching over decode slots, a prompt's keys and values computed once and shared by
// all of its completions. A token depends on (seed, purpose, step, prompt, sample, turn, token of the turn) and on the
// row's own history alone, so slots, refills and threads change no bit.
//
// With a partner a completion is a whole episode: when an action ends, the partner's observation is appended to the
// episode's own keys and values, in the batch in which other episodes decode, and the policy continues.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/parallel/thread_pool.h"
#include "core/random/draw.h"
#include "kernels/sampling/sampling.h"
#include "models/decoder/inference.h"
#include "models/generation/partner.h"

namespace reprise::models {

// One turn of an episode: the partner's observation, then the policy's action.
struct SampledTurn {
  int64_t observation_tokens = 0;  // 0 before the first action, which follows the prompt
  int64_t action_tokens = 0;       // at least one
  bool complete = false;           // the action ended by itself, not at max_action_length or max_completion_length

  bool operator==(const SampledTurn&) const = default;
};

struct SampledCompletion {
  std::vector<int32_t> tokens;   // with the end token, if one was drawn; of all turns, with the observations
  std::vector<float> logprobs;   // unfiltered, at the sampling temperature; 0 for observations
  std::vector<float> entropies;  // nats; likewise
  // Log-probabilities under the distribution that the tokens were drawn from, which top_k, top_p and min_new_tokens
  // restrict; 0 for observations. Empty unless reports_behaviour.
  std::vector<float> behaviour_logprobs;
  bool terminated = false;          // its last action ended by itself, not at a length limit
  std::vector<SampledTurn> turn_K;  // of an episode with a partner; else empty
};

struct GenerateOptions {
  int64_t num_generations = 1;        // G
  int64_t max_completion_length = 1;  // of all turns together, including observations
  int64_t max_action_length = 0;      // of one turn; 0: no limit of its own
  kernels::SamplingOptions sampling;
  std::vector<int32_t> end_tokens;
  // Returns whether tokens are a whole completion although the last is not an end token; called after each token. Null:
  // they never are. Pure. Not called for episodes with a partner.
  std::function<bool(absl::Span<const int32_t>)> is_complete = nullptr;
  // The number of first tokens of a completion, or of each action of an episode, that are not end tokens. Like top_k it
  // restricts what is drawn; log-probabilities are those without it.
  int64_t min_new_tokens = 0;
  bool reports_behaviour = false;  // sets SampledCompletion::behaviour_logprobs
  // Number of threads that wait for the partner's answers while others decode; 0: each decoding thread waits for the
  // answers to its own episodes.
  int64_t askers = 0;
  // Called many times a second by waiting threads: returns whether the call was cancelled, because its episodes are not
  // needed. The call then returns an error as soon as the partner's pending calls have returned. Null: never cancelled.
  std::function<bool()> is_cancelled = nullptr;
  // Drops inputs of the model's adapters (models/lora/dropout.h), as training does: for episodes that it learns from.
  bool drops = false;
  int64_t slots = 0;  // completions decoded at once on this rank, over all threads; 0: all
  // Weights that fit into a core's own caches are read by each thread for its own sequences, without waiting for other
  // threads. Larger weights come from memory, which should be read only once: the threads decode one batch together.
  int64_t own_cache_bytes = int64_t{4} << 20;
  uint64_t seed = 0;
  Purpose purpose = Purpose::kSampling;
  uint64_t step = 0;
};

struct Prompt {
  absl::Span<const int32_t> tokens;  // at least one
  uint64_t index = 0;                // index within the step, over all ranks: a coordinate of the draws
};

struct GenerateResult {
  std::vector<SampledCompletion> completions;    // [prompt * G + sample]
  int64_t prompt_rows = 0, completion_rows = 0;  // rows through the decoder
  int64_t refills = 0;                           // completions that started in a slot after another one had ended there
  std::vector<int64_t> expert_count_LE;          // how often each expert of each layer was chosen
};

struct DecodeMemory;

// The memory of calls of Generate, reused across calls: a call that needs no more than earlier ones allocates none. For
// decoders of one configuration; used by one call at a time.
class GenerateMemory {
 public:
  GenerateMemory();
  ~GenerateMemory();

  std::vector<std::unique_ptr<DecodeMemory>>& workers() { return workers_; }

 private:
  std::vector<std::unique_ptr<DecodeMemory>> workers_;
};

// Returns whether an episode of this many tokens has room for an observation and the first token of the next action.
inline bool HasRoom(int64_t tokens, int64_t observation, int64_t max_completion_length) {
  return tokens + observation < max_completion_length;
}

// Samples completions. Prompt length + max_completion_length must not exceed the model's positions (checked by the
// caller). `memory` may be null: then the call allocates its own.
GenerateResult Generate(const Decoder& decoder, absl::Span<const Prompt> prompts, const GenerateOptions& options,
                        ThreadPool& pool, GenerateMemory* memory = nullptr);

// Samples episodes with a partner. An action that max_completion_length truncates ends its episode without an answer;
// an observation that leaves no room for an action ends the episode too, and is not appended. Returns the error of the
// lowest-numbered episode that failed; which episodes fail may depend on slots and threads. After an error no thread
// calls the partner any more.
absl::StatusOr<GenerateResult> GenerateEpisodes(const Decoder& decoder, absl::Span<const Prompt> prompts,
                                                const GenerateOptions& options, Partner& partner, ThreadPool& pool,
                                                GenerateMemory* memory = nullptr);

}  // namespace reprise::models

#endif  // MODELS_GENERATION_GENERATE_H_
