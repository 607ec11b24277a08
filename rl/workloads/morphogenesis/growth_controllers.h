#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_CONTROLLERS_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_CONTROLLERS_H_

// What chooses the actions of an episode while it is played.

#include <cstdint>

#include "core/random/draw.h"
#include "rl/policy/categorical/categorical_policy.h"
#include "rl/workloads/morphogenesis/growth_actions.h"
#include "rl/workloads/morphogenesis/play_growth.h"

namespace reprise::rl {

// Where an episode's choices are drawn: at this place, with turn the epoch.
struct GrowthPlace {
  uint64_t seed = 0;  // of the run
  Purpose purpose = Purpose::kSampling;
  uint64_t step = 0, prompt = 0, sample = 0;
};

// Each is for one episode. The arguments must outlive the result.
ChooseGrowth SampledChoices(const CategoricalPolicy& policy, float temperature, const GrowthPlace& place);
ChooseGrowth GreedyChoices(const CategoricalPolicy& policy);  // the most probable; of several, the first
ChooseGrowth HeuristicChoices(const GrowthActions& actions);
ChooseGrowth RandomChoices(uint64_t seed, uint64_t prompt);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_CONTROLLERS_H_
