#ifndef RL_CONFIG_ALGORITHM_CHOICE_H_
#define RL_CONFIG_ALGORITHM_CHOICE_H_

// Resolves the options of [algorithm]. A key whose value is "the algorithm's own" ("" or -1) takes the value of the row
// of rl/algorithm named by algorithm.name.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/decoder/config.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"

namespace reprise::rl {

// Returns the row with the configuration's overrides; loss.max_completion_length and kl.total_updates, which other
// sections decide, are not set. Unless the row has its own upper clip, it equals the lower one. InvalidArgument, naming
// the keys, for options that cannot be combined, and for reward weights that are not numbers or not one per reward.
// Pure.
absl::StatusOr<AlgorithmRow> AlgorithmOf(const AlgorithmConfig& algorithm);

// Returns the kind of value function of such a run. Errors as above.
absl::StatusOr<models::ValueModel> ValueModelOf(const AlgorithmConfig& algorithm);

// Writes the row's values into the keys that have its own value and that have a reader, and returns the names of those
// keys, "algorithm.beta". AlgorithmOf is the same before and after. Errors as above.
absl::StatusOr<std::vector<std::string>> FillAlgorithm(AlgorithmConfig* algorithm);

// The same for all keys, read or not. Returns `algorithm` unchanged if AlgorithmOf fails. Pure.
AlgorithmConfig WithOwnValues(AlgorithmConfig algorithm);

}  // namespace reprise::rl

#endif  // RL_CONFIG_ALGORITHM_CHOICE_H_
