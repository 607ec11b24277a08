#ifndef MODELS_HEADS_INITIAL_WEIGHTS_H_
#define MODELS_HEADS_INITIAL_WEIGHTS_H_

// Initial weights of layers: pure functions of a seed, in arithmetic of our own, the same bits on every machine.

#include <cstdint>

#include "absl/types/span.h"

namespace reprise::models {

// Normal weights have the standard deviation gain / sqrt(inputs). Orthogonal ones are gain times a matrix whose rows
// are orthonormal, or whose columns are where it has fewer of these (Saxe et al. 2014; PyTorch's orthogonal_): it is
// uniformly distributed over all such matrices.
enum class InitialWeights { kNormal, kOrthogonal };

// Weights [outputs, inputs] in an array of a whole layout.
struct WeightPlace {
  int spec = 0;  // index into FlatLayout::specs, to which the draws belong
  int64_t offset = 0;
  int64_t outputs = 0, inputs = 0;
};

// Sets the weights at a place. Orthogonal ones take about 4 outputs inputs min(outputs, inputs) operations.
void DrawInitialWeights(uint64_t seed, InitialWeights kind, double gain, const WeightPlace& place,
                        absl::Span<float> parameters);

}  // namespace reprise::models

#endif  // MODELS_HEADS_INITIAL_WEIGHTS_H_
