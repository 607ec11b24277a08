#ifndef RL_LEARNER_STEP_ADVANTAGES_H_
#define RL_LEARNER_STEP_ADVANTAGES_H_

// From the rewards of a step to its advantages, and to what its losses count.

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "core/comm/communicator.h"
#include "rl/advantage/advantages.h"
#include "rl/learner/step.h"

namespace reprise::rl {

// The environment's rewards, each at the end of its turn (algorithm.turn_rewards turn).
struct TurnRewards {
  size_t place = 0;        // of the environment among the reward functions
  double turn_reward = 0;  // environment.turn_reward
};

struct SignalOptions {
  AdvantageOptions advantage;
  std::vector<double> weights_F = {1.0};                   // of the reward functions
  bool mask_truncated_completions = false;                 // they count in their groups, no token of them does
  bool dynamic_sampling = false;                           // rl/advantage/sample_weights.h
  std::optional<TurnRewards> turn_rewards = std::nullopt;  // none: in the sum at the episode's end
  // Episodes that CheckOf calls invalid are as if they were not there, as those always are that no function could
  // score.
  bool drops_invalid = false;
};

// Whether log-probabilities under the sampling policy and the reference must be known.
inline bool NeedsDivergence(const SignalOptions& options) { return options.advantage.reward_beta != 0; }

// What a step's own completions do not tell.
struct Baselines {
  double running_mean = 0;                // of earlier steps
  std::vector<double> prompt_baseline_P;  // of this rank's prompts (PromptBaselines); empty where nothing reads it
};

// Every rank computes the advantages of all completions from all rewards, lengths and divergences, and keeps its own;
// of all it keeps what the normalisers need (Step::signal_N) and the weighted rewards. Collective; errors are the
// communicator's.
absl::Status AssignAdvantages(Communicator& comm, const SignalOptions& options, const Baselines& baselines, Step* step);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_ADVANTAGES_H_
