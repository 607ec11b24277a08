#ifndef RL_LEARNER_CHOICES_H_
#define RL_LEARNER_CHOICES_H_

// Turns the names in a configuration into the components that they select.

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"
#include "rl/episodes/step_rewards.h"
#include "rl/gradient/updater.h"
#include "rl/rollout/generate.h"
#include "rl/schedule/learning_rate.h"

namespace reprise::rl {

// The environment's rewards, each at the end of its turn (algorithm.turn_rewards = "turn").
struct TurnRewards {
  size_t place = 0;        // index of the environment's reward among the reward functions
  double turn_reward = 0;  // environment.turn_reward
};

// The options of a run's components.
struct Choices {
  AlgorithmRow algorithm;                                  // with the values that the configuration sets itself
  std::optional<TurnRewards> turn_rewards = std::nullopt;  // nullopt: added at the episode's end
  // Ignores episodes that CheckOf calls invalid; unscorable episodes are always ignored.
  bool drops_invalid = false;
  ScheduleOptions schedule;
};
// InvalidArgument for an unknown name.
absl::StatusOr<Choices> ChoicesOf(const Config& config);

// Whether a checkpoint, which contains only weights and the optimizer's state, is enough to resume from: the reference
// model must be the initial one, and schedules and evaluations must have no state.
bool CheckpointsAreStates(const Config& config, const Choices& choices);

// `reward`, if not null, replaces every function that the configuration names. InvalidArgument for an unknown name.
absl::StatusOr<RewardOptions> RewardOptionsOf(const Config& config, RewardFunction reward,
                                              const std::vector<int32_t>& end_tokens);

// Returns how completions of training steps are sampled, with `step` 0. The tokenizer must outlive the result, which
// calls it where `rules` have stops.
GenerateOptions GenerateOptionsOf(const Config& config, const models::Tokenizer& tokenizer, const TurnRules& rules);

}  // namespace reprise::rl

#endif  // RL_LEARNER_CHOICES_H_
