#ifndef RL_CONFIG_QUIET_STAR_CHECK_H_
#define RL_CONFIG_QUIET_STAR_CHECK_H_

// What relates the keys of [quiet_star] to those of other sections: conditions, sizes of texts, checks.

#include <cstdint>

#include "absl/status/status.h"
#include "core/config/field_list.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"

namespace reprise::rl {

class Conditions;  // rl/config/key_conditions.h

// Lists the keys of [quiet_star], under the conditions that other sections decide.
void VisitThoughts(config::FieldList& list, Config& config, const Conditions& when, const config::Condition& scope);

// Returns the tokens of thoughts that an episode has at most: that of one sample at every position of the longest text.
// Pure.
int64_t MostThoughtTokens(const Config& config);

// Returns the greatest number of characters of a text, prompt and answer, of [data]. Pure.
int64_t LongestText(const DataConfig& data);

// Returns the greatest number of tokens of an example of the SFT phase, its thought included. Pure.
int64_t LongestExample(const Config& config);

// InvalidArgument, with a remedy, unless texts with their thoughts fit into the positions of a model. Pure.
absl::Status CheckPositions(const Config& config, int64_t positions);

// InvalidArgument, naming the keys, for values that do not go together. algorithm: of the configuration.
absl::Status CheckQuietStar(const Config& config);

}  // namespace reprise::rl

#endif  // RL_CONFIG_QUIET_STAR_CHECK_H_
