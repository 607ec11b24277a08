#ifndef RL_CONFIG_ALGORITHM_CHECK_H_
#define RL_CONFIG_ALGORITHM_CHECK_H_

#include "absl/status/status.h"
#include "models/decoder/config.h"
#include "rl/algorithm/algorithm.h"

namespace reprise::rl {

// Returns InvalidArgument, naming the keys, for options of [algorithm] that cannot be combined, also at the weights of
// the divergence that a schedule reaches later, and for reward weights that are not numbers or not one per reward.
// Pure.
absl::Status CheckAlgorithm(const AlgorithmConfig& algorithm);

// Returns the kind of value function of such a run. Pure.
models::ValueModel ChooseValueModel(const AlgorithmConfig& algorithm);

}  // namespace reprise::rl

#endif  // RL_CONFIG_ALGORITHM_CHECK_H_
