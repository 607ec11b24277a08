#ifndef RL_WORKLOADS_MORPHOGENESIS_SECTION_MORPHOGENESIS_SECTION_H_
#define RL_WORKLOADS_MORPHOGENESIS_SECTION_MORPHOGENESIS_SECTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/field_list.h"
#include "models/morphogenesis/life_cycle/host_task.h"
#include "rl/advantage/advantages.h"

namespace reprise::rl {

struct MorphogenesisConfig {
  std::string task = "cifar10";
  std::string data_path = "";  // "": generated
  int64_t train_examples = 512;
  int64_t validation_examples = 256;
  int64_t batch_size = 0;  // 0: the task's
  int64_t max_epochs = 0;  // 0: the task's
  bool augments = true;
  // The host.
  int64_t image_size = 32;
  int64_t base_channels = 8;
  int64_t blocks = 3;
  int64_t block_size = 64;
  int64_t width = 32;
  int64_t heads = 4;
  int64_t layers = 2;
  double dropout = 0.1;
  double host_learning_rate = 0.01;
  double seed_learning_rate = 0.01;
  double momentum = 0.9;
  double weight_decay = 5e-4;
  bool detaches_blending = false;
  int64_t embargo_epochs = 5;
  // The controller.
  std::string reward = "shaped";
  bool telemetry = true;
  std::string trunk = "256 256";
  std::string hidden = "128";
  int64_t lstm = 0;  // 0: none
  bool orthogonal = true;
  bool normalizes_features = false;
  bool normalizes_entropy = true;

  bool operator==(const MorphogenesisConfig&) const = default;
};

// Lists the keys of [morphogenesis].
void VisitMorphogenesis(config::FieldList& list, MorphogenesisConfig& morphogenesis, const config::Condition& scope);

// Returns whether the key shapes the controller, and not what it controls. Pure.
bool IsControllerShapeKey(absl::string_view section, absl::string_view key);

// Returns the task, with the host's shape, batch size and epochs of the configuration. NotFound for a task that there
// is not.
absl::StatusOr<models::HostTask> MakeHostTask(const MorphogenesisConfig& morphogenesis);

// Returns the number of decisions of an episode, one for each epoch. The task must be known.
int64_t CountEpochs(const MorphogenesisConfig& morphogenesis);

// The hidden layers of the controller: those that policy and value function share, and those of each.
struct ControllerWidths {
  std::vector<int64_t> trunk, hidden;
};
// InvalidArgument, naming the key, for text that is no list of widths.
absl::StatusOr<ControllerWidths> ParseControllerWidths(const MorphogenesisConfig& morphogenesis);

// Returns the names of the metrics of an evaluation beside those of ScoreMetricNames: return, accuracy and growth of
// the controller and of the two that it is compared with. Pure.
std::vector<std::string> GrowthScoreNames(int64_t samples);

// The most epochs of updates over a step's episodes for a controller that remembers, and how many are too many for most
// tasks, as in esper-lite.
inline constexpr int64_t kMostRecurrentEpochs = 4, kManyRecurrentEpochs = 2;

// Returns what a run should be warned of. epochs: of updates (algorithm.num_iterations), as below. Pure.
std::vector<std::string> MorphogenesisWarnings(const MorphogenesisConfig& growth, int64_t epochs);

// InvalidArgument, naming the keys, for values that do not go together, a blueprint that does not fit the host's slot,
// and baselines that need episodes of their own.
absl::Status CheckMorphogenesis(const MorphogenesisConfig& growth, int64_t epochs, Baseline baseline);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_SECTION_MORPHOGENESIS_SECTION_H_
