#include "models/morphogenesis/networks/seed_module.h"

#include "core/status/status_macros.h"

namespace reprise::models {

absl::StatusOr<std::unique_ptr<SeedModule>> BuildSeed(Topology topology, const Blueprint& blueprint, int64_t channels,
                                                      const EpisodeCoordinates& episode, int number) {
  RETURN_IF_ERROR(BlueprintParameters(topology, blueprint, channels).status());
  const uint64_t first_tensor = kTensorsOfModule * (static_cast<uint64_t>(number) + 1);
  if (topology == Topology::kCnn) return BuildCnnSeed(blueprint.kind, channels, episode, first_tensor);
  return BuildTransformerSeed(blueprint.kind, channels, episode, first_tensor);
}

}  // namespace reprise::models
