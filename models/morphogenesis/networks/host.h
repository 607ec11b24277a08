#ifndef MODELS_MORPHOGENESIS_NETWORKS_HOST_H_
#define MODELS_MORPHOGENESIS_NETWORKS_HOST_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "models/morphogenesis/life_cycle/topology.h"
#include "models/morphogenesis/life_cycle/training.h"
#include "models/morphogenesis/networks/token_ops.h"
#include "models/morphogenesis/networks/weights.h"

namespace reprise::models {

// What one forward pass is for.
struct HostPass {
  bool training = false;      // else: no dropout, and batch normalisation by running statistics
  uint64_t dropout_seed = 0;  // of a pass in training: DropoutSeedOf
};

// The seed of the dropout masks of an episode's `batch`-th training batch.
uint64_t DropoutSeedOf(const EpisodeCoordinates& episode, uint64_t batch);

// What stands at injection point `point` (an index into InjectionPoints): activations in, activations out.
using AtInjection = std::function<at::Tensor(size_t point, const at::Tensor& h)>;

// A network with places for slots.
class Host {
 public:
  explicit Host(const HostShape& shape) : shape_(shape) {}
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  const HostShape& shape() const { return shape_; }
  const NamedTensors& parameters() const { return parameters_; }
  const NamedTensors& buffers() const { return buffers_; }  // state that is not learned

  // InvalidArgument: the batch does not fit the shape, or a token or class is out of range.
  virtual absl::Status CheckBatch(const HostBatch& batch) const = 0;

  // The mean cross-entropy of a batch that fits. In training, statistics of normalisation are updated.
  virtual BatchLoss Loss(const HostBatch& batch, const HostPass& pass, const AtInjection& at_injection) const = 0;

 protected:
  HostShape shape_;
  NamedTensors parameters_, buffers_;
};

// A host with initial weights of its episode; `shape` is valid.
std::unique_ptr<Host> BuildHost(const HostShape& shape, const EpisodeCoordinates& episode);
std::unique_ptr<Host> BuildCnnHost(const HostShape& shape, const EpisodeCoordinates& episode);
std::unique_ptr<Host> BuildTransformerHost(const HostShape& shape, const EpisodeCoordinates& episode);

// InvalidArgument unless all values are in [0, bound).
absl::Status CheckRange(absl::string_view what, absl::Span<const int32_t> values, int64_t bound);

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_NETWORKS_HOST_H_
