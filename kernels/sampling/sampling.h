#ifndef KERNELS_SAMPLING_SAMPLING_H_
#define KERNELS_SAMPLING_SAMPLING_H_

// Draws a token from one row of logits by inverse CDF in a fixed order. The log-probability reported is that of the
// temperature-scaled, unfiltered distribution (kernels/lm_head's contract, the same bits as in training); top-k and
// top-p only restrict what is drawn.

#include <cstdint>
#include <vector>

namespace reprise::kernels {

struct SamplingOptions {
  float temperature = 1.0f;  // > 0
  int64_t top_k = 0;         // 0: all. The k most probable, ties by lowest index
  float top_p = 1.0f;        // 1: all. The smallest set of most probable tokens whose mass reaches top_p; at least one
  bool greedy = false;       // the most probable token, ties by lowest index
};

struct SampledToken {
  int32_t token = 0;
  float logprob = 0;
  float entropy = 0;  // of the unfiltered distribution
};

// uniform in [0, 1). logits [vocabulary] are overwritten (divided by the temperature). `workspace` keeps its memory.
SampledToken SampleToken(int64_t vocabulary, float* logits, const SamplingOptions& options, double uniform,
                         std::vector<float>* workspace);

}  // namespace reprise::kernels

#endif  // KERNELS_SAMPLING_SAMPLING_H_
