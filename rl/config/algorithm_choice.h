#ifndef RL_CONFIG_ALGORITHM_CHOICE_H_
#define RL_CONFIG_ALGORITHM_CHOICE_H_

// What [algorithm] chooses. A key that is left at "the algorithm's own" ("" or -1) takes the value of the row of
// rl/algorithm that algorithm.name names.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/decoder/config.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"

namespace reprise::rl {

// The row with the configuration's choices over it; loss.max_completion_length is left alone. An upper clip that the
// row does not raise is the lower one. InvalidArgument, naming the keys, for choices that exclude each other, and for
// reward weights that are no numbers or not one a reward. Pure.
absl::StatusOr<AlgorithmRow> AlgorithmOf(const AlgorithmConfig& algorithm);

// What foretells the returns of such a run. Errors as above.
absl::StatusOr<models::ValueModel> ValueModelOf(const AlgorithmConfig& algorithm);

// Writes the row's values into the keys that are left to it and that anything reads, and returns the names of those
// keys, "algorithm.beta". AlgorithmOf is the same before and after. Errors as above.
absl::StatusOr<std::vector<std::string>> FillAlgorithm(AlgorithmConfig* algorithm);

// The same into all keys, read or not, as canonical texts have them. What AlgorithmOf refuses stays as it is. Pure.
AlgorithmConfig WithOwnValues(AlgorithmConfig algorithm);

// The keys that came after the first runs, where they say what the algorithm says of itself, left to it again: the
// canonical text of a run leaves them out, so that it does not change with them. FillAlgorithm puts them back. Pure.
AlgorithmConfig WithoutOwnChoices(AlgorithmConfig algorithm);

}  // namespace reprise::rl

#endif  // RL_CONFIG_ALGORITHM_CHOICE_H_
