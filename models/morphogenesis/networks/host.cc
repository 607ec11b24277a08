#include "models/morphogenesis/networks/host.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "core/random/draw.h"
#include "models/morphogenesis/networks/row_ops.h"

namespace reprise::models {

uint64_t DropoutSeedOf(const EpisodeCoordinates& episode, uint64_t batch) {
  const std::array<uint32_t, 4> bits =
      DrawBits(episode.seed, kHostDropout,
               {.step = episode.step, .prompt = episode.prompt, .sample = episode.sample, .token = batch});
  return static_cast<uint64_t>(bits[1]) << 32 | bits[0];
}

std::unique_ptr<Host> BuildHost(const HostShape& shape, const EpisodeCoordinates& episode) {
  return shape.topology == Topology::kCnn ? BuildCnnHost(shape, episode) : BuildTransformerHost(shape, episode);
}

absl::Status CheckRange(absl::string_view what, absl::Span<const int32_t> values, int64_t bound) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0 && values[i] < bound) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", i, " of a host's batch is ", values[i], ", but must be 0 to ", bound - 1));
  }
  return absl::OkStatus();
}

}  // namespace reprise::models
