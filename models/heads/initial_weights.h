#ifndef MODELS_HEADS_INITIAL_WEIGHTS_H_
#define MODELS_HEADS_INITIAL_WEIGHTS_H_

// Initial weights of layers, from draws of their own arithmetic.

#include <cstdint>

#include "absl/types/span.h"
#include "core/tensor/flat_layout.h"

namespace reprise::models {

// Normal weights have the standard deviation gain / sqrt(inputs). Orthogonal ones are gain times a matrix whose rows,
// or columns where it has fewer of these, are orthonormal (Saxe et al. 2014; as PyTorch's orthogonal_): the
// Gram-Schmidt process in double, applied twice to each vector, of normal draws; uniformly distributed over all such
// matrices.
enum class InitialWeights { kNormal, kOrthogonal };

// Sets the weights [outputs, inputs] of the tensor layout.specs[spec], in an array of the whole layout. A pure function
// of its arguments; the same bits on every machine.
void DrawInitialWeights(uint64_t seed, InitialWeights kind, double gain, const FlatLayout& layout, int spec,
                        absl::Span<float> parameters);

}  // namespace reprise::models

#endif  // MODELS_HEADS_INITIAL_WEIGHTS_H_
