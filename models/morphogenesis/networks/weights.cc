#include "models/morphogenesis/networks/weights.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/random/draw.h"
#include "kernels/math/scalar_math.h"
#include "models/morphogenesis/networks/autograd_node.h"

namespace reprise::models {
namespace {

// Step, prompt, sample: the episode, turn: index of the tensor, token: index of the element.
constexpr Purpose kHostWeights{22};

// Calls value(128 random bits) for each element.
template <typename Value>
at::Tensor Drawn(const EpisodeCoordinates& episode, uint64_t number, const std::vector<int64_t>& shape,
                 const Value& value) {
  at::Tensor tensor = NewFloats(shape);
  float* const to = MutableData(tensor);
  DrawAt at = {.step = episode.step, .prompt = episode.prompt, .sample = episode.sample, .turn = number};
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    at.token = static_cast<uint64_t>(i);
    to[i] = static_cast<float>(value(DrawBits(episode.seed, kHostWeights, at)));
  }
  return tensor;
}

}  // namespace

int64_t ElementsOf(const NamedTensors& tensors) {
  int64_t elements = 0;
  for (const NamedTensor& tensor : tensors) elements += tensor.tensor.numel();
  return elements;
}

void RequireGradients(bool require, const NamedTensors& tensors) {
  for (const NamedTensor& tensor : tensors) at::Tensor(tensor.tensor).set_requires_grad(require);
}

at::Tensor WeightMaker::Uniform(absl::string_view name, std::vector<int64_t> shape, int64_t inputs) {
  const double bound = 1.0 / kernels::Sqrt(static_cast<double>(inputs));
  return Append(name, Drawn(episode_, next_, shape, [bound](const std::array<uint32_t, 4>& bits) {
                  return bound * (bits[0] * 0x1p-31 - 1.0);
                }));
}

at::Tensor WeightMaker::Normal(absl::string_view name, std::vector<int64_t> shape, double deviation) {
  return Append(name, Drawn(episode_, next_, shape, [deviation](const std::array<uint32_t, 4>& bits) {
                  return deviation * kernels::NormalDeviate(bits[0] * 0x1p-32, bits[1] * 0x1p-32);
                }));
}

at::Tensor WeightMaker::Constant(absl::string_view name, std::vector<int64_t> shape, float value) {
  at::Tensor tensor = NewFloats(shape);
  std::fill_n(MutableData(tensor), tensor.numel(), value);
  return Append(name, tensor);
}

at::Tensor WeightMaker::Append(absl::string_view name, at::Tensor tensor) {
  ++next_;
  tensor.set_requires_grad(true);
  list_->push_back({std::string(name), tensor});
  return tensor;
}

}  // namespace reprise::models
