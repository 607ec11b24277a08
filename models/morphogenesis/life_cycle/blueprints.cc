#include "models/morphogenesis/life_cycle/blueprints.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise::models {
namespace {

constexpr int64_t kGroupChoices[] = {32, 16, 8, 4, 2, 1};
constexpr int64_t kLeastChannelsOfGroup = 16;
constexpr int64_t kMostGroups = 32;

}  // namespace

const std::vector<Blueprint>& Blueprints(Topology topology) {
  static const auto* const cnn = new std::vector<Blueprint>{
      {"norm", 100, BlueprintKind::kNorm},
      {"attention", 2000, BlueprintKind::kSqueezeExcite},
      {"depthwise", 4800, BlueprintKind::kDepthwise},
      {"conv_light", 37000, BlueprintKind::kConvLight},
      {"conv_heavy", 74000, BlueprintKind::kConvHeavy},
  };
  static const auto* const transformer = new std::vector<Blueprint>{
      {"norm", 800, BlueprintKind::kNorm},
      {"lora", 6000, BlueprintKind::kLora},
      {"attention", 50000, BlueprintKind::kCausalAttention},
      {"flex_attention", 55000, BlueprintKind::kCausalAttention},
      {"mlp", 1200000, BlueprintKind::kMlp},
  };
  return topology == Topology::kCnn ? *cnn : *transformer;
}

absl::StatusOr<Blueprint> FindBlueprint(Topology topology, absl::string_view name) {
  const std::vector<Blueprint>& all = Blueprints(topology);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Blueprint& b) { return b.name == name; });
  if (found != all.end()) return *found;
  const std::string names =
      absl::StrJoin(all, ", ", [](std::string* out, const Blueprint& b) { absl::StrAppend(out, b.name); });
  return absl::NotFoundError(
      absl::StrCat("Unknown blueprint '", name, "' for ", NameOf(topology), ". Available: ", names));
}

absl::StatusOr<int64_t> BlueprintParameters(Topology topology, const Blueprint& blueprint, int64_t channels) {
  const int64_t c = channels;
  if (c < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a slot of ", c, " channels: it must have at least 1"));
  }
  switch (blueprint.kind) {
    case BlueprintKind::kNorm:
      return 2 * c + 1;
    case BlueprintKind::kSqueezeExcite:
      return 2 * c * SqueezedChannels(c);
    case BlueprintKind::kDepthwise:
      return 9 * c + c * c + 2 * c;
    case BlueprintKind::kConvLight:
      return 9 * c * c + 2 * c;
    case BlueprintKind::kConvHeavy:
      return 18 * c * c + 4 * c;
    case BlueprintKind::kLora:
      return 2 * kLoraRank * c;
    case BlueprintKind::kMlp:
      return 8 * c * c + 5 * c;
    case BlueprintKind::kCausalAttention:
      break;
  }
  if (c % kSeedHeads != 0) {
    return absl::InvalidArgumentError(absl::StrCat("blueprint '", blueprint.name, "' for ", NameOf(topology), " has ",
                                                   kSeedHeads, " heads, which do not divide the width ", c));
  }
  return 4 * c * c + 4 * c;
}

int64_t SqueezedChannels(int64_t channels) { return std::max<int64_t>(1, channels / 4); }

int64_t ConvolutionGroups(int64_t channels) {
  for (const int64_t groups : kGroupChoices) {
    if (channels % groups == 0 && channels / groups >= kLeastChannelsOfGroup) return groups;
  }
  for (const int64_t groups : kGroupChoices) {
    if (channels % groups == 0) return groups;
  }
  return 1;
}

int64_t NormGroups(int64_t channels) {
  int64_t groups = std::min(kMostGroups, channels);
  while (channels % groups != 0) --groups;
  return groups;
}

}  // namespace reprise::models
