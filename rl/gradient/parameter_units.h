#ifndef RL_GRADIENT_PARAMETER_UNITS_H_
#define RL_GRADIENT_PARAMETER_UNITS_H_

// The units in which parameters are owned, updated, summed into norms and digested: a whole tensor, or, for embeddings
// and lm-heads that are too big for that, fixed blocks of their rows. Units do not depend on the number of ranks, so
// nothing that is computed by unit does.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/comm/exchange/ownership.h"
#include "core/digest/sha256.h"
#include "core/tensor/flat_layout.h"
#include "rl/config/config.h"

namespace reprise::rl {

struct ParameterUnit {
  int spec = 0;  // index into FlatLayout::specs
  int64_t offset = 0, size = 0;
};

// Returns the units in layout order. A 2-D tensor by rows of more than 2^20 elements is cut into blocks of whole rows,
// as few as keep each block at most 2^20 elements (part of the numeric contract: norms are summed by unit).
std::vector<ParameterUnit> MakeParameterUnits(const FlatLayout& layout);

// Returns the extents of the units for Ownership::Deal, one per unit.
std::vector<TensorExtent> UnitExtents(const std::vector<ParameterUnit>& units);

// Returns the units that a rank owns, where `ownership` is that of UnitExtents.
std::vector<ParameterUnit> OwnedUnits(int rank, const Ownership& ownership, const std::vector<ParameterUnit>& units);

// Returns the digest of each tensor: the digest of its only unit, or the SHA-256 of its units' digests, in order.
std::vector<Digest> TensorDigests(const std::vector<ParameterUnit>& units, const std::vector<Digest>& unit_digests,
                                  size_t tensors);

// Returns whether the weight decay of an optimizer with this weight_decay_on (OptimizerConfig) applies to a tensor:
// "all": to every one, "matrices": not to vectors, "values": only to those of a value function, "value_model." and
// "v_head." by their names. Statistics never decay.
bool Decays(const ParameterSpec& spec, DecayedTensors weight_decay_on);

}  // namespace reprise::rl

#endif  // RL_GRADIENT_PARAMETER_UNITS_H_
