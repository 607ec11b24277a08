#ifndef MODELS_LORA_DROPOUT_H_
#define MODELS_LORA_DROPOUT_H_

// Dropout of the inputs of adapters (Srivastava et al. 2014). Which elements of a row are dropped is a function of the
// row's place in the run (step, prompt, sample, position) and of the adapter: ranks, threads and batches cannot change
// it, and the log-probability of a sampled token has the same bits in sampling as in every pass of its training step.

#include <cstdint>

#include "core/random/draw.h"
#include "kernels/contract/operands.h"

namespace reprise::models {

// The place of a sequence's rows. Rows of a prompt, which its completions share, have sample 0 and in_prompt.
struct DropoutPlace {
  uint64_t seed = 0;  // of the run
  uint64_t step = 0, prompt = 0, sample = 0;
  bool in_prompt = false;
  bool in_sft = false;
};

// Returns the seed of the row at this position of the sequence, from which its elements are drawn. Pure.
uint64_t DropoutSeedOf(const DropoutPlace& place, int64_t position);

// The seeds of rows. Null: nothing is dropped.
struct RowSeeds {
  const uint64_t* seed_T = nullptr;
  const int32_t* token_R = nullptr;  // of dispatched rows: whose seed each has; null: row t has seed t

  uint64_t Of(int64_t row) const { return seed_T[token_R == nullptr ? row : token_R[row]]; }
  RowSeeds From(int64_t row) const {
    if (seed_T == nullptr) return {};
    return token_R == nullptr ? RowSeeds{seed_T + row} : RowSeeds{seed_T, token_R + row};
  }
};

struct Dropout {
  // An element is dropped if 16 random bits are less than this: `probability` is rounded to a multiple of 2^-16.
  uint32_t threshold = 0;
  float scale = 1;       // of the others: 1 / (1 - the rounded probability)
  uint64_t adapter = 0;  // below 2^32

  static Dropout Of(double probability, uint64_t adapter);
  bool IsOn(const RowSeeds& seeds) const { return threshold > 0 && seeds.seed_T != nullptr; }
};

// y = x with some elements 0 and the others multiplied by the scale; y may be x. Its own backward pass, from dy to dx.
// Eight elements take one draw.
void ApplyDropout(const Dropout& dropout, const RowSeeds& seeds, const kernels::ConstRows& x, const kernels::Rows& y);

}  // namespace reprise::models

#endif  // MODELS_LORA_DROPOUT_H_
