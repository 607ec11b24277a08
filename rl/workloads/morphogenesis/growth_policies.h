#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_POLICIES_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_POLICIES_H_

// Controllers that are not learned: a policy by rules (esper-lite's Tamiyo) and one that chooses at random. A learned
// one must be better than both.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "rl/workloads/morphogenesis/growth_actions.h"
#include "rl/workloads/morphogenesis/growth_report.h"

namespace reprise::rl {

struct HeuristicDecision {
  GrowthAction action = {};
  double confidence = 0;  // from 0 to 1
  std::string reason;
};

struct HeuristicOptions {
  int64_t embargo_epochs = 5;  // after a cull, in which nothing is germinated
  double cull_penalty = 2;     // of the blueprint whose seed was culled
  double penalty_decay = 0.5;  // per epoch
  double forgotten = 0.1;      // a smaller penalty is none
  double most_penalty = 3;     // a blueprint that has as much is left out of its turn
  double failing = -2;         // percentage points in a stage, after failing_epochs
  int64_t failing_epochs = 5;
};

// Plays one episode. Germinates the blueprints in turn once the host's training has stabilised on a plateau, removes
// seeds that harm, and fossilises those that help. Blueprints whose seeds were culled often are left out for a while,
// or where all are, the one with the least penalty follows. With the default options no penalty outlasts the embargo.
class HeuristicController {
 public:
  // The order of its turns is that of esper-lite where the topology has its blueprints, else that of the actions
  // (there, it names blueprints of the CNN for a transformer, too).
  explicit HeuristicController(const GrowthActions& actions, const HeuristicOptions& options = {});

  // Must be called after every epoch.
  HeuristicDecision Decide(const TrainingSignals& signals, const GrowthReport& report);

 private:
  HeuristicDecision DecideToGerminate(const TrainingSignals& signals);
  HeuristicDecision DecideOnSeed(const SeedReport& seed) const;
  int64_t NextBlueprint();

  const HeuristicOptions options_;
  std::vector<int64_t> turn_B_;  // blueprints in the order of their turns
  std::vector<double> penalty_B_;
  size_t next_ = 0;
  int64_t epochs_since_cull_;
};

// Returns one of the allowed actions, each with the same probability. uniform: in [0, 1).
int64_t RandomAction(absl::Span<const uint8_t> allowed_A, double uniform);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_POLICIES_H_
