#ifndef RL_WORKLOADS_MORPHOGENESIS_PLAY_GROWTH_H_
#define RL_WORKLOADS_MORPHOGENESIS_PLAY_GROWTH_H_

// Plays one episode: trains a host from its first weights, and after each epoch asks a controller what to do with its
// slot. An episode is a function of the rules, the examples, its host's seed and the controller; nothing in it depends
// on other episodes, or on the thread that plays it.

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "models/morphogenesis/host_session.h"
#include "rl/config/config.h"
#include "rl/workloads/morphogenesis/growth_episode.h"
#include "rl/workloads/morphogenesis/growth_examples.h"

namespace reprise::rl {

struct GrowthChoice {
  int64_t action = 0;
  float logprob = 0;  // of the policy that chose it; 0 where none did
};

// Chooses an action in the state after an epoch. Called on the thread that plays.
using ChooseGrowth = std::function<GrowthChoice(const GrowthState& state, const GrowthReport& report)>;

// The parts of a run that its episodes share; all must outlive the call.
struct GrowthDeps {
  const MorphogenesisConfig& config;
  const GrowthRules& rules;
  const GrowthExamples& examples;
};

// Errors: those of HostSession; Internal where the controller chooses an action that is not allowed, or a host is not
// finite even after it was rolled back.
absl::StatusOr<PlayedGrowth> PlayGrowth(const GrowthDeps& parts, uint64_t host_seed, const ChooseGrowth& choose);

// The options of a host's session. Pure.
models::SessionOptions MakeSessionOptions(const MorphogenesisConfig& config, const GrowthRules& rules);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_PLAY_GROWTH_H_
