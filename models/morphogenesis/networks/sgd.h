#ifndef MODELS_MORPHOGENESIS_NETWORKS_SGD_H_
#define MODELS_MORPHOGENESIS_NETWORKS_SGD_H_

#include <vector>

#include "ATen/core/Tensor.h"
#include "models/morphogenesis/life_cycle/training.h"
#include "models/morphogenesis/networks/weights.h"

namespace reprise::models {

// Stochastic gradient descent on some parameters, which it changes in place. In floats, each operation rounded.
class Sgd {
 public:
  Sgd(NamedTensors parameters, const SgdOptions& options);

  const NamedTensors& parameters() const { return parameters_; }
  const NamedTensors& momentum() const { return momentum_; }  // by the parameters' names; changed in place

  // One gradient for each parameter. Parameters without one (undefined) are left alone, and so is their momentum.
  void Step(const std::vector<at::Tensor>& gradients);

 private:
  NamedTensors parameters_, momentum_;
  SgdOptions options_;
};

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_NETWORKS_SGD_H_
