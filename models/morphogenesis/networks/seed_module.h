#ifndef MODELS_MORPHOGENESIS_NETWORKS_SEED_MODULE_H_
#define MODELS_MORPHOGENESIS_NETWORKS_SEED_MODULE_H_

#include <cstdint>
#include <memory>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "models/morphogenesis/life_cycle/blueprints.h"
#include "models/morphogenesis/life_cycle/training.h"
#include "models/morphogenesis/networks/weights.h"

namespace reprise::models {

// A network that keeps the shape of its input: [B, H, W, C] in a CNN, [B, T, C] in a transformer.
class SeedModule {
 public:
  SeedModule(const EpisodeCoordinates& episode, uint64_t first_tensor) : make_(episode, first_tensor, &parameters_) {}
  virtual ~SeedModule() = default;
  SeedModule(const SeedModule&) = delete;
  SeedModule& operator=(const SeedModule&) = delete;

  virtual at::Tensor Forward(const at::Tensor& x) const = 0;

  const NamedTensors& parameters() const { return parameters_; }

 private:
  NamedTensors parameters_;

 protected:
  WeightMaker make_;  // for constructors
};

// Builds a blueprint for C channels, as the `number`-th seed of its episode (from 0). InvalidArgument: it does not fit.
absl::StatusOr<std::unique_ptr<SeedModule>> BuildSeed(Topology topology, const Blueprint& blueprint, int64_t channels,
                                                      const EpisodeCoordinates& episode, int number);

// The halves of BuildSeed, for blueprints that fit.
std::unique_ptr<SeedModule> BuildCnnSeed(BlueprintKind kind, int64_t channels, const EpisodeCoordinates& episode,
                                         uint64_t first_tensor);
std::unique_ptr<SeedModule> BuildTransformerSeed(BlueprintKind kind, int64_t width, const EpisodeCoordinates& episode,
                                                 uint64_t first_tensor);

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_NETWORKS_SEED_MODULE_H_
