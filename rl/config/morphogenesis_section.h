#ifndef RL_CONFIG_MORPHOGENESIS_SECTION_H_
#define RL_CONFIG_MORPHOGENESIS_SECTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/field_list.h"
#include "models/morphogenesis/life_cycle/host_task.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"

namespace reprise::rl {

class Conditions;  // rl/config/key_conditions.h

// Lists the keys of [morphogenesis].
void VisitMorphogenesis(config::FieldList& list, MorphogenesisConfig& morphogenesis, const Conditions& when);

// Returns whether the key shapes the controller, and not what it controls. Pure.
bool ShapesController(absl::string_view section, absl::string_view key);

// Returns the task, with the host's shape, batch size and epochs of the configuration. NotFound for a task that there
// is not.
absl::StatusOr<models::HostTask> HostTaskOf(const MorphogenesisConfig& morphogenesis);

// Returns the number of decisions of an episode, one for each epoch. The task must be known.
int64_t EpochsOf(const MorphogenesisConfig& morphogenesis);

// The hidden layers of the controller: those that policy and value function share, and those of each.
struct ControllerWidths {
  std::vector<int64_t> trunk, hidden;
};
// InvalidArgument, naming the key, for text that is no list of widths.
absl::StatusOr<ControllerWidths> ControllerWidthsOf(const MorphogenesisConfig& morphogenesis);

// Returns the names of the metrics of an evaluation beside those of ScoreMetricNames: return, accuracy and growth of
// the controller and of the two that it is compared with. Pure.
std::vector<std::string> GrowthScoreNames(int64_t samples);

// The most epochs of updates over a step's episodes for a controller that remembers, and how many are too many for most
// tasks, as in esper-lite.
inline constexpr int64_t kMostRecurrentEpochs = 4, kManyRecurrentEpochs = 2;

// Returns what a run should be warned of. Pure.
std::vector<std::string> MorphogenesisWarnings(const Config& config);

// InvalidArgument, naming the keys, for values that do not go together, a blueprint that does not fit the host's slot,
// and baselines that need episodes of their own.
absl::Status CheckMorphogenesis(const Config& config, const AlgorithmRow& algorithm);

}  // namespace reprise::rl

#endif  // RL_CONFIG_MORPHOGENESIS_SECTION_H_
