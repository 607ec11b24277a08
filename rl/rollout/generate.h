#ifndef RL_ROLLOUT_GENERATE_H_
#define RL_ROLLOUT_GENERATE_H_

// Samples completions: continuous batching over decode slots, a prompt's keys and values computed once and shared by
// all of its completions. A token depends on (seed, purpose, step, prompt, sample, turn, token of the turn) and on the
// row's own history alone, so slots, refills and threads change no bit.
//
// With a partner a completion is a whole episode: when an action ends, what the partner says is appended to the
// episode's own keys and values, in the batch in which other episodes decode, and the policy goes on.

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
#include "rl/rollout/partner.h"

namespace reprise::rl {

// One turn of an episode: what the partner said before it, then what the policy did.
struct SampledTurn {
  int64_t observation_tokens = 0;  // none before the first action: that is what the prompt is for
  int64_t action_tokens = 0;       // at least one
  bool complete = false;           // the action ended of itself, not at max_action_length or max_completion_length

  bool operator==(const SampledTurn&) const = default;
};

struct SampledCompletion {
  std::vector<int32_t> tokens;   // with the end token, if one was drawn; of all turns, with what the partner said
  std::vector<float> logprobs;   // unfiltered, at the sampling temperature; 0 where the partner spoke
  std::vector<float> entropies;  // nats; likewise
  // Under what the token was drawn from, which top_k, top_p and min_new_tokens restrict; likewise. Empty unless asked
  // for.
  std::vector<float> behaviour_logprobs;
  bool terminated = false;          // its last action ended of itself, not by length
  std::vector<SampledTurn> turn_K;  // of an episode with a partner; else none
};

struct GenerateOptions {
  int64_t num_generations = 1;        // G
  int64_t max_completion_length = 1;  // of all turns together, with what the partner says
  int64_t max_action_length = 0;      // of one turn; 0: no bound of its own
  kernels::SamplingOptions sampling;
  std::vector<int32_t> end_tokens;
  // Whether tokens are a whole completion although the last is no end token, asked after each; null: none is. Pure, and
  // not asked of episodes with a partner.
  std::function<bool(absl::Span<const int32_t>)> is_complete = nullptr;
  // Of a completion, or of each action of an episode: before them no end token is drawn. As top_k it restricts what is
  // drawn, and log-probabilities are those without it.
  int64_t min_new_tokens = 0;
  bool tells_behaviour = false;  // SampledCompletion::behaviour_logprobs
  // Threads that wait for the partner's answers while others decode; 0: each that decodes waits for those to its own
  // episodes.
  int64_t askers = 0;
  // Asked many times a second by threads that wait for others: whether no episode of the call will be used. It then
  // ends with an error, as soon as the partner's answers do. Null: all will be.
  std::function<bool()> is_called_off = nullptr;
  int64_t slots = 0;  // completions decoded at once on this rank, over all threads; 0: all
  // Weights that a core keeps in its own caches are read by each thread for its own sequences, without ever waiting for
  // another thread. Larger ones come from memory, which the threads should read once in all: they decode one batch
  // together.
  int64_t own_cache_bytes = int64_t{4} << 20;
  uint64_t seed = 0;
  Purpose purpose = Purpose::kSampling;
  uint64_t step = 0;
};

struct Prompt {
  absl::Span<const int32_t> tokens;  // at least one
  uint64_t index = 0;                // within the step, over all ranks: a coordinate of the draws
};

struct GenerateResult {
  std::vector<SampledCompletion> completions;    // [prompt * G + sample]
  int64_t prompt_rows = 0, completion_rows = 0;  // rows through the decoder
  int64_t refills = 0;                           // completions that started after another had ended in their slot
  std::vector<int64_t> expert_count_E;           // chosen experts over all layers and rows
};

struct DecodeMemory;

// What calls of Generate work in, kept from one to the next: one that needs no more than those before it maps no
// memory. For decoders of one configuration; one call at a time.
class GenerateMemory {
 public:
  GenerateMemory();
  ~GenerateMemory();

  std::vector<std::unique_ptr<DecodeMemory>>& workers() { return workers_; }

 private:
  std::vector<std::unique_ptr<DecodeMemory>> workers_;
};

// Whether an episode of so many tokens has room for an observation and a first token of the action after it.
inline bool HasRoom(int64_t tokens, int64_t observation, int64_t max_completion_length) {
  return tokens + observation < max_completion_length;
}

// Prompt length + max_completion_length must not exceed the model's positions (checked by the caller). `memory` may be
// null: then the call has its own.
GenerateResult Generate(const models::Decoder& decoder, absl::Span<const Prompt> prompts,
                        const GenerateOptions& options, ThreadPool& pool, GenerateMemory* memory = nullptr);

// Episodes with a partner. An action that max_completion_length cuts off ends its episode unanswered, and so does an
// observation that leaves no room for an action; it is then not appended. The error of the first episode, by number, of
// those that met one; which do may depend on slots and threads. After an error no thread asks the partner any more.
absl::StatusOr<GenerateResult> GenerateEpisodes(const models::Decoder& decoder, absl::Span<const Prompt> prompts,
                                                const GenerateOptions& options, Partner& partner, ThreadPool& pool,
                                                GenerateMemory* memory = nullptr);

}  // namespace reprise::rl

#endif  // RL_ROLLOUT_GENERATE_H_
