#include "models/morphogenesis/networks/sgd.h"

#include <utility>

#include "models/morphogenesis/networks/autograd_node.h"

namespace reprise::models {
namespace {

void StepTensor(const SgdOptions& options, int64_t n, const float* gradient, float* velocity, float* parameter) {
  const float rate = static_cast<float>(options.learning_rate), momentum = static_cast<float>(options.momentum);
  const float decay = static_cast<float>(options.weight_decay);
  for (int64_t i = 0; i < n; ++i) {
    const float g = gradient[i] + decay * parameter[i];
    velocity[i] = momentum * velocity[i] + g;
    parameter[i] = parameter[i] - rate * velocity[i];
  }
}

}  // namespace

Sgd::Sgd(NamedTensors parameters, const SgdOptions& options) : parameters_(std::move(parameters)), options_(options) {
  for (const NamedTensor& p : parameters_) momentum_.push_back({p.name, NewZerosLike(p.tensor)});
}

void Sgd::Step(const std::vector<at::Tensor>& gradients) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const at::Tensor gradient = gradients[i].contiguous();
    StepTensor(options_, gradient.numel(), Data(gradient), MutableData(momentum_[i].tensor),
               MutableData(parameters_[i].tensor));
  }
}

}  // namespace reprise::models
