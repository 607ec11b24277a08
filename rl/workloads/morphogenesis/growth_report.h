#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_REPORT_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_REPORT_H_

// What is known of a growing network after one epoch, when the controller decides. It is all that a controller's
// features, the masks of its actions and its rewards follow from, so that they are computed again without the network.

#include <cstdint>
#include <optional>

#include "models/morphogenesis/life_cycle/stage.h"
#include "rl/workloads/morphogenesis/signals.h"

namespace reprise::rl {

// The seed in the network's slot. Accuracies in percent, improvements in percentage points, times in epochs.
struct SeedReport {
  models::Stage stage = models::Stage::kGerminated, previous_stage = models::Stage::kDormant;
  int64_t blueprint = 0;  // index in the order of actions
  int64_t epochs_in_stage = 0, previous_epochs_in_stage = 0;
  int64_t age = 0;  // epochs since it was germinated
  int64_t params = 0;
  double alpha = 0;
  double stage_improvement = 0, total_improvement = 0;
  double germination_accuracy = 0;            // of the network into which it was put
  std::optional<double> counterfactual = {};  // accuracy with the seed minus that without it; none where alpha is 0
  // Of its gradients in the last batch; 0, 1, false, false before there are any.
  double gradient_norm = 0, gradient_health = 1;
  bool is_vanishing = false, is_exploding = false;

  bool operator==(const SeedReport&) const = default;
};

struct GrowthReport {
  EpochMeasures measures = {};
  double host_gradient_norm = 0;
  std::optional<SeedReport> seed = {};
  int64_t embargo_epochs = 0;    // for which nothing can germinate, after a cull
  int64_t fossil_params = 0;     // of all seeds that became a part of the network
  bool was_rolled_back = false;  // by the governor, in this epoch; the measures are those of the restored network

  bool operator==(const GrowthReport&) const = default;
};

// What does not change in an episode.
struct GrowthScale {
  int64_t max_epochs = 25, batches_per_epoch = 1;
  int64_t max_steps = 10000;  // of the task: batches
  int64_t host_params = 1;
  bool is_bootstrapped = false;  // returns go on with the value of the state after the last decision
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_REPORT_H_
