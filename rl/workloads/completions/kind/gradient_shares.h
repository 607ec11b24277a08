#ifndef RL_WORKLOADS_COMPLETIONS_KIND_GRADIENT_SHARES_H_
#define RL_WORKLOADS_COMPLETIONS_KIND_GRADIENT_SHARES_H_

// The distribution of a step's gradient over ranks and threads, in the numbers that determine its memory.

#include <cstdint>

#include "core/tensor/flat_layout.h"
#include "rl/config/config.h"
#include "rl/workloads/completions/kind/longest_texts.h"

namespace reprise::rl {

// Each is the maximum over ranks.
struct GradientShares {
  int64_t prompts = 0;  // of a training step
  int64_t at_work = 0;  // shares that its threads compute at a time: logical shards, or all with run.reduction "fast"
  int64_t rows = 0;     // of the largest micro-batch
  int64_t buffers = 0;  // gradients held at a time
  int64_t owned = 0;    // parameters whose optimizer state it holds
  int64_t staged = 0;   // floats in transit to other ranks, except in MPI's own buffers
};

// config passes CheckConfig for `ranks`; threads >= 1. Pure.
GradientShares EstimateShares(const Config& config, const FlatLayout& layout, int64_t ranks, int64_t threads,
                              const LongestTexts& longest);

// Returns the number of gradients that a rank holds when it computes `threads` shards at a time: those waiting in the
// shard tree, and one for each shard being computed, or two where micro-batches cut its chains. The maximum over ranks;
// with one thread and one micro-batch per shard it is at most 1 + log2 L.
int64_t GradientBuffers(int64_t logical_shards, int64_t ranks, int64_t threads, bool cut);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_KIND_GRADIENT_SHARES_H_
