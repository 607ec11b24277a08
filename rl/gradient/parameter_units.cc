#include "rl/gradient/parameter_units.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace reprise::rl {
namespace {

constexpr int64_t kLargestUnit = int64_t{1} << 20;  // floats: 4 MiB

}  // namespace

std::vector<ParameterUnit> MakeParameterUnits(const FlatLayout& layout) {
  std::vector<ParameterUnit> units;
  for (int index = 0; index < static_cast<int>(layout.specs.size()); ++index) {
    const ParameterSpec& spec = layout.specs[index];
    if (!spec.by_rows || spec.size <= kLargestUnit) {
      units.push_back({index, spec.offset, spec.size});
      continue;
    }
    const int64_t rows = spec.shape[0], width = spec.shape[1];
    const int64_t block = std::max<int64_t>(1, kLargestUnit / width);
    for (int64_t row = 0; row < rows; row += block) {
      units.push_back({index, spec.offset + row * width, std::min(block, rows - row) * width});
    }
  }
  return units;
}

std::vector<TensorExtent> UnitExtents(const std::vector<ParameterUnit>& units) {
  std::vector<TensorExtent> extents;
  for (const ParameterUnit& unit : units) extents.push_back({unit.offset, unit.size, 1, unit.size, false});
  return extents;
}

std::vector<ParameterUnit> OwnedUnits(int rank, const Ownership& ownership, const std::vector<ParameterUnit>& units) {
  std::vector<ParameterUnit> owned;
  for (const Piece& piece : ownership.PiecesOf(rank)) owned.push_back(units[piece.tensor]);
  return owned;
}

std::vector<Digest> TensorDigests(const std::vector<ParameterUnit>& units, const std::vector<Digest>& unit_digests,
                                  size_t tensors) {
  std::vector<Digest> digests(tensors);
  for (size_t begin = 0; begin < units.size();) {
    size_t end = begin + 1;
    while (end < units.size() && units[end].spec == units[begin].spec) ++end;
    Digest& digest = digests[units[begin].spec];
    if (end - begin == 1) {
      digest = unit_digests[begin];
    } else {
      Sha256Stream stream;
      for (size_t i = begin; i < end; ++i) stream.Update(unit_digests[i]);
      digest = stream.Current();
    }
    begin = end;
  }
  return digests;
}

bool Decays(const ParameterSpec& spec, DecayedTensors weight_decay_on) {
  if (spec.kind == ParameterKind::kStatistic) return false;
  if (weight_decay_on == DecayedTensors::kMatrices) return spec.kind != ParameterKind::kVector;
  if (weight_decay_on == DecayedTensors::kAll) return true;
  return absl::StartsWith(spec.name, "value_model.") || absl::StartsWith(spec.name, "v_head.");
}

}  // namespace reprise::rl
