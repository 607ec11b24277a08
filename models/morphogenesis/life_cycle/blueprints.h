#ifndef MODELS_MORPHOGENESIS_LIFE_CYCLE_BLUEPRINTS_H_
#define MODELS_MORPHOGENESIS_LIFE_CYCLE_BLUEPRINTS_H_

// What seeds can be: the registry of both topologies. models/morphogenesis/networks builds them.
//
//   CNN, C channels; GN is group normalisation            parameters
//     norm        x + s (GN(x) - x), s starts at 1        2 C + 1
//     attention   x sigmoid(W2 relu(W1 mean(x)))          2 C max(1, C / 4)
//     depthwise   x + relu(GN(1x1(depthwise 3x3(x))))     9 C + C^2 + 2 C
//     conv_light  x + relu(GN(3x3(x)))                    9 C^2 + 2 C
//     conv_heavy  two of them, then + x                   18 C^2 + 4 C
//   transformer, width C
//     norm            x + s (LN(x) - x)                   2 C + 1
//     lora            x + up(down(x)), rank 8             16 C
//     attention       x + proj(causal MHA, 4 heads)       4 C^2 + 4 C
//     flex_attention  the same function                   4 C^2 + 4 C
//     mlp             x + fc2(GELU(fc1(x))), 4 C hidden   8 C^2 + 5 C
// Both attentions of transformers are causal: a seed that sees the future would train its host to cheat.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/morphogenesis/life_cycle/topology.h"

namespace reprise::models {

enum class BlueprintKind : uint8_t {
  kNorm,
  kSqueezeExcite,
  kDepthwise,
  kConvLight,
  kConvHeavy,
  kLora,
  kCausalAttention,
  kMlp,
};

struct Blueprint {
  std::string name;
  int64_t estimate = 0;  // of parameters: the order of the registry, and with it that of actions
  BlueprintKind kind = BlueprintKind::kNorm;
};

// Sorted by estimate.
const std::vector<Blueprint>& Blueprints(Topology topology);

// NotFound lists the available names.
absl::StatusOr<Blueprint> FindBlueprint(Topology topology, absl::string_view name);

// The exact number of parameters for C channels, or for width C. InvalidArgument: the blueprint does not fit, because
// C is not positive or not a multiple of the attention's 4 heads.
absl::StatusOr<int64_t> BlueprintParameters(Topology topology, const Blueprint& blueprint, int64_t channels);

inline constexpr int64_t kLoraRank = 8;
inline constexpr int64_t kSeedHeads = 4;

// The width of the bottleneck of `attention` in a CNN: max(1, C / 4).
int64_t SqueezedChannels(int64_t channels);

// Groups of the convolutional blueprints' GN: the first g of 32, 16, 8, 4, 2, 1 that divides C with C / g >= 16, else
// the first that divides C.
int64_t ConvolutionGroups(int64_t channels);

// Groups of `norm` in a CNN: the largest divisor of C that is at most 32. (min(32, C) need not divide C.)
int64_t NormGroups(int64_t channels);

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_LIFE_CYCLE_BLUEPRINTS_H_
