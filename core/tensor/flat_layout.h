#ifndef CORE_TENSOR_FLAT_LAYOUT_H_
#define CORE_TENSOR_FLAT_LAYOUT_H_

// The parameters of a policy as named tensors, one after the other in one flat array of floats. Gradients, the state of
// optimizers and exchange buffers use the same layout, so that a tensor has the same range of elements in all of them.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/tensor.h"

namespace reprise {

// What a tensor is to an optimizer. Vectors are gains and biases; heads map hidden states to outputs. Statistics are
// not learned: their gradient is 0, and they do not decay.
enum class ParameterKind { kMatrix, kVector, kEmbedding, kHead, kStatistic };

struct ParameterSpec {
  std::string name;    // as on disk, e.g. "model.layers.0.mlp.experts.3.up_proj.weight"
  Shape shape;         // [out, in] for matrices
  int64_t offset = 0;  // first element in the flat array; a multiple of 16 (64 bytes)
  int64_t size = 0;
  ParameterKind kind = ParameterKind::kMatrix;
  bool by_rows = false;  // its rows may be owned by different ranks: only of tensors that are updated elementwise
};

// The order of specs is part of the numeric contract: norms are summed over tensors in this order.
struct FlatLayout {
  std::vector<ParameterSpec> specs;
  int64_t total = 0;  // floats of the flat array, padding included

  // Appends a tensor behind the others and returns its index.
  int Append(std::string name, Shape shape, ParameterKind kind, bool by_rows = false);
};

// A flat array under a name: one of the groups that an optimizer's state consists of.
struct FlatGroup {
  std::string name;
  std::vector<float> values;  // total floats
};

// Tensors under a common name, as files store them.
struct TensorGroup {
  std::string name;
  std::vector<TensorView> tensors;
};

// Returns the tensors of a flat array, or of each of several, which must outlive them.
std::vector<TensorView> ViewsOf(const FlatLayout& layout, absl::Span<const float> flat);
std::vector<TensorGroup> ViewsOf(const FlatLayout& layout, const std::vector<FlatGroup>& groups);

}  // namespace reprise

#endif  // CORE_TENSOR_FLAT_LAYOUT_H_
