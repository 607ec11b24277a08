#ifndef CORE_RANDOM_DRAW_H_
#define CORE_RANDOM_DRAW_H_

// Randomness is a function, never a state: a draw depends on its coordinates alone, so that ranks, threads, batches and
// resumption cannot change it, and no generator is stored, shared or advanced anywhere.
//
// The bits are Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), whose key is the
// run's 64-bit seed and whose 128-bit counter is made of the coordinates, see draw.cc.

#include <array>
#include <cstdint>

namespace reprise {

// What a draw is for. Part of the numeric contract: never change or reuse a value. These are the purposes that more
// than one package draws with. A package has further ones of its own, as constexpr Purpose kSweepSetting{12};
// tests/architecture checks that no two in the tree are equal.
enum class Purpose : uint8_t {
  kInitialWeights = 1,  // step: index of the tensor, token: index of the element
  kTask = 2,            // step, prompt, token: index of the draw within the task; data/jsonl's order of a file's tasks
  kSampling = 3,        // step, prompt, sample, turn, token: one uniform per sampled token
  kSftTask = 4,         // like kTask, for supervised fine-tuning
  kEvaluationTask = 5,  // like kTask, for held-out tasks
  kEvaluationSampling = 6,
  kEnvironment = 7,    // step, prompt, sample, turn, token: an environment's own randomness
  kMinibatch = 8,      // step, turn: iteration over the step's completions, token: index of the draw in the shuffle
  kValueSampling = 9,  // like kSampling, for the completions of the reference that a prompt's value is estimated from
  // First step, prompt, sample, turn, token: the seed of a row at a position (turn: 0 in a prompt, 1 behind it, 2 more
  // in an SFT phase; prompt and sample of a text that is encoded once: bits of a hash of its tokens); then, with this
  // seed, step: number of an adapter, token: eight elements of its input.
  kAdapterDropout = 11,
  // Step: 2^24 images, or half of all steps and 2^24 stories; prompt: index among these, token: index of the draw in
  // it. What data/images and data/stories generate.
  kGeneratedExample = 23,
  kTest = 255,
};

// The coordinates of a draw. Ranges: step < 2^32, prompt < 2^24, sample < 2^16, turn < 2^16, token < 2^32 (checked).
struct DrawAt {
  uint64_t step = 0;
  uint64_t prompt = 0;  // index within the step, over all ranks
  uint64_t sample = 0;
  uint64_t turn = 0;
  uint64_t token = 0;
};

// 128 random bits. Pure; about 10 ns.
std::array<uint32_t, 4> DrawBits(uint64_t seed, Purpose purpose, const DrawAt& at);

// Uniform in [0, 1), a multiple of 2^-53.
double DrawUniform(uint64_t seed, Purpose purpose, const DrawAt& at);

// Uniform in {0, ..., bound - 1}, without bias beyond 2^-64 (multiplication of 64 bits). bound >= 1.
uint64_t DrawBelow(uint64_t seed, Purpose purpose, const DrawAt& at, uint64_t bound);

}  // namespace reprise

#endif  // CORE_RANDOM_DRAW_H_
