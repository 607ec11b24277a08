#ifndef RL_CONFIG_QUIET_STAR_SECTION_H_
#define RL_CONFIG_QUIET_STAR_SECTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/field_list.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"
#include "rl/schedule/trend_rules.h"

namespace reprise::rl {

class Conditions;  // rl/config/key_conditions.h

// Lists the keys of [quiet_star].
void VisitQuietStar(config::FieldList& list, QuietStarConfig& quiet_star, const Conditions& when);

// Returns whether the key describes the model that thinks, not the problem. Pure.
bool ShapesThoughtPolicy(absl::string_view section, absl::string_view key);

// Returns the tokens of thoughts that an episode has at most: that of one sample at every position of the longest text.
// Pure.
int64_t MostThoughtTokens(const Config& config);

// Returns the greatest number of characters of a text, prompt and answer, of [data]. Pure.
int64_t LongestText(const DataConfig& data);

// Returns the greatest number of tokens of an example of the warm-up, its thought included. Pure.
int64_t LongestExample(const Config& config);

// InvalidArgument, with a remedy, unless texts with their thoughts fit into the positions of a model. Pure.
absl::Status CheckPositions(const Config& config, int64_t positions);

// Returns the widths in quiet_star.value_hidden. InvalidArgument, naming the word, for one that is no width.
absl::StatusOr<std::vector<int64_t>> ValueWidths(const QuietStarConfig& quiet_star);

// Returns the names of the metrics of an evaluation that compare thinking with not thinking. Pure.
std::vector<std::string> ThoughtScoreNames(const Config& config);

// Returns what a run of thoughts keeps from step to step (WorkloadTraits::trends). Pure.
WorkloadTrends ThoughtTrends(const Config& config);

// InvalidArgument, naming the keys, for values that do not go together. algorithm: of the configuration.
absl::Status CheckQuietStar(const Config& config, const AlgorithmRow& algorithm);

}  // namespace reprise::rl

#endif  // RL_CONFIG_QUIET_STAR_SECTION_H_
