#ifndef MODELS_MORPHOGENESIS_NETWORKS_WEIGHTS_H_
#define MODELS_MORPHOGENESIS_NETWORKS_WEIGHTS_H_

// Parameters of hosts and seeds: named leaves of LibTorch's graphs, with initial values from Draw.

#include <cstdint>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/strings/string_view.h"
#include "models/morphogenesis/life_cycle/stage.h"
#include "models/morphogenesis/life_cycle/training.h"

namespace reprise::models {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};
using NamedTensors = std::vector<NamedTensor>;

int64_t ElementsOf(const NamedTensors& tensors);
void RequireGradients(bool require, const NamedTensors& tensors);

// Tensors of an episode are numbered: a host's from 0, those of its k-th seed from kTensorsOfModule * (k + 1).
inline constexpr uint64_t kTensorsOfModule = 512;
static_assert(kTensorsOfModule * (kMostSeeds + 2) <= 1 << 16, "a tensor's number is a coordinate of its draws");

// Creates the parameters of one module, which all require gradients, and appends them to a list.
class WeightMaker {
 public:
  WeightMaker(const EpisodeCoordinates& episode, uint64_t first_tensor, NamedTensors* list)
      : episode_(episode), next_(first_tensor), list_(list) {}

  // Uniform in [-bound, bound) with bound = 1 / sqrt(inputs): as PyTorch's linear and convolutional layers, with the
  // weights that go into one output as inputs.
  at::Tensor Uniform(absl::string_view name, std::vector<int64_t> shape, int64_t inputs);
  at::Tensor Normal(absl::string_view name, std::vector<int64_t> shape, double deviation);
  at::Tensor Constant(absl::string_view name, std::vector<int64_t> shape, float value);

 private:
  at::Tensor Append(absl::string_view name, at::Tensor tensor);

  EpisodeCoordinates episode_;
  uint64_t next_;
  NamedTensors* list_;
};

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_NETWORKS_WEIGHTS_H_
