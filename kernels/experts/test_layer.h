#ifndef KERNELS_EXPERTS_TEST_LAYER_H_
#define KERNELS_EXPERTS_TEST_LAYER_H_

// A layer of experts with random weights for tests and benchmarks, and its results: by the kernels, and by the order
// contract of experts.h written as simply as possible, one token and one element at a time.

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"
#include "kernels/experts/experts.h"

namespace reprise::kernels {

struct LayerSizes {
  int64_t tokens = 0, width = 0, expert_width = 0, experts = 0, per_token = 0;
};

struct TestLayer {
  LayerSizes sizes;
  std::vector<float> x_TD, weight_TK, dy_TD, gate_EFD, up_EFD, down_EDF;
  std::vector<int32_t> expert_TK;
};

// Returns normal weights of scale 1 / sqrt(contraction), inputs of scale 1; per_token distinct experts per token,
// ascending, drawn from the first `used_experts` (0: all).
TestLayer RandomLayer(const LayerSizes& sizes, uint64_t seed, int64_t used_experts = 0);

// The rows [begin, end) of a layer, with all its weights.
TestLayer RowsOf(const TestLayer& layer, int64_t begin, int64_t end);

struct LayerResults {
  std::vector<float> y_TD, dx_TD, dweight_TK, gate_EFD, up_EFD, down_EDF;
};

// Packed weights of every expert and the views that the kernels take. The weights are in tensors, as in production
// code.
struct PackedExperts {
  explicit PackedExperts(const TestLayer& layer);
  std::vector<Tensor> buffers;
  std::vector<ExpertWeights> weights_E;
};

// Activations of a call and the memory that holds them.
struct HeldActivations {
  explicit HeldActivations(const LayerSizes& sizes);
  int64_t width, expert_width;
  Tensor x_RD, gate_up_R2F, hidden_RF, out_RD;
  ExpertActivations Views();
};

// Runs the kernels forward and backward, with the layer's tokens split into calls before each of `cuts` (ascending).
LayerResults RunKernels(const TestLayer& layer, std::vector<int64_t> cuts = {});

LayerResults RunReference(const TestLayer& layer);

}  // namespace reprise::kernels

#endif  // KERNELS_EXPERTS_TEST_LAYER_H_
