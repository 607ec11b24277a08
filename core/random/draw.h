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

// What a draw is for. Part of the numeric contract: never change or reuse a value.
enum class Purpose : uint8_t {
  kInitialWeights = 1,  // step: index of the tensor, token: index of the element
  kTask = 2,            // step, prompt, token: index of the draw within the task; data/jsonl's order of a file's tasks
  kSampling = 3,        // step, prompt, sample, turn, token: one uniform per sampled token
  kWarmUpTask = 4,      // like kTask, for supervised warm-up
  kEvaluationTask = 5,  // like kTask, for held-out tasks
  kEvaluationSampling = 6,
  kEnvironment = 7,    // step, prompt, sample, turn, token: an environment's own randomness
  kMinibatch = 8,      // step, turn: iteration over the step's completions, token: index of the draw in the shuffle
  kValueSampling = 9,  // like kSampling, for the completions of the reference that a prompt's value is estimated from
  kBandit = 10,        // token: index of the draw: the rewards of a bandit, the same for all of its problems
  // First step, prompt, sample, turn, token: the seed of a row at a position (turn: 0 in a prompt, 1 behind it, 2 more
  // in a warm-up; prompt and sample of a text that is encoded once: bits of a hash of its tokens); then, with this
  // seed, step: number of an adapter, token: eight elements of its input.
  kAdapterDropout = 11,
  kSweepSetting = 12,    // step: index of the draw, token: the key that it is for; the settings of a sweep's trials
  kSweepBootstrap = 13,  // step: resample, prompt: what is estimated, token: index within the resample
  kSweepSample = 14,     // token: index; the trials of a sweep that are executed again
  kThought = 15,         // step, prompt, sample, turn: position in the text, token: one uniform per token of a thought
  // step, prompt, sample: what it is for, turn: position in the text, token: index. Lengths of thoughts, new rows of
  // embeddings, dropout of the mixing head (models/quiet_star).
  kThoughtNoise = 16,
  kEvaluationThought = 17,  // like kThought, in evaluations
  kBaking = 18,             // prompt: index of an example of the warm-up of thoughts, token: index of the draw
  // First step, prompt, sample: the episode, token: the training batch within it: the seed of a forward pass; then,
  // with this seed, step: number of the dropout in the network, token: eight elements.
  kHostDropout = 20,
  // With the seed of a host, step: the epoch: the order of its training examples (as data/jsonl's order of a file's
  // tasks) and, prompt: 1, token: the image, how an image is shifted and mirrored.
  kHostAugmentation = 21,
  kHostWeights = 22,  // step, prompt, sample: the episode, turn: index of the tensor, token: index of the element
  // Step: 2^24 images, or half of all steps and 2^24 stories; prompt: index among these, token: index of the draw in
  // it.
  kMorphogenesisTask = 23,
  kMorphogenesisEpisode = 24,  // prompt, turn: epoch; the choices of a controller that chooses at random
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
