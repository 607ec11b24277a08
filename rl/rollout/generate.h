#ifndef RL_ROLLOUT_GENERATE_H_
#define RL_ROLLOUT_GENERATE_H_

// Samples completions: continuous batching over decode slots, a prompt's keys and values computed once and shared by
// all of its completions. A token depends on (seed, purpose, step, prompt, sample, token) and on the row's own history
// alone, so slots, refills and threads change no bit.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/parallel/thread_pool.h"
#include "core/random/draw.h"
#include "kernels/sampling/sampling.h"
#include "models/decoder/inference.h"

namespace reprise::rl {

struct SampledCompletion {
  std::vector<int32_t> tokens;   // with the end token, if one was drawn
  std::vector<float> logprobs;   // unfiltered, at the sampling temperature
  std::vector<float> entropies;  // nats
  bool terminated = false;       // ended with an end token, not by length
};

struct GenerateOptions {
  int64_t num_generations = 1;  // G
  int64_t max_completion_length = 1;
  kernels::SamplingOptions sampling;
  std::vector<int32_t> end_tokens;
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

 private:
  friend GenerateResult Generate(const models::Decoder&, absl::Span<const Prompt>, const GenerateOptions&, ThreadPool&,
                                 GenerateMemory*);
  std::vector<std::unique_ptr<DecodeMemory>> workers_;
};

// Prompt length + max_completion_length must not exceed the model's positions (checked by the caller). `memory` may be
// null: then the call has its own.
GenerateResult Generate(const models::Decoder& decoder, absl::Span<const Prompt> prompts,
                        const GenerateOptions& options, ThreadPool& pool, GenerateMemory* memory = nullptr);

}  // namespace reprise::rl

#endif  // RL_ROLLOUT_GENERATE_H_
