#ifndef RL_LEARNER_CHOICES_H_
#define RL_LEARNER_CHOICES_H_

// Turns the names in a configuration into the components that they select.

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "rl/advantage/advantages.h"
#include "rl/config/config.h"
#include "rl/episodes/prompt_baselines.h"
#include "rl/episodes/step_rewards.h"
#include "rl/gradient/updater.h"
#include "rl/loss/importance_correction.h"
#include "rl/loss/options.h"
#include "rl/metrics/step_metrics.h"
#include "rl/rollout/generate.h"
#include "rl/schedule/entropy_coefficient.h"
#include "rl/schedule/kl_coefficient.h"
#include "rl/schedule/learning_rate.h"
#include "rl/schedule/minibatches.h"

namespace reprise::rl {

// The environment's rewards, each at the end of its turn (algorithm.turn_rewards = "turn").
struct TurnRewards {
  size_t place = 0;        // index of the environment's reward among the reward functions
  double turn_reward = 0;  // environment.turn_reward
};

struct SignalOptions {
  AdvantageOptions advantage;
  std::vector<double> weights_F = {1.0};                   // of the reward functions
  bool mask_truncated_completions = false;                 // their rewards count, but none of their tokens
  bool dynamic_sampling = false;                           // rl/advantage/sample_weights.h
  std::optional<TurnRewards> turn_rewards = std::nullopt;  // nullopt: added at the episode's end
  // Ignores episodes that CheckOf calls invalid; unscorable episodes are always ignored.
  bool drops_invalid = false;
};

// Whether log-probabilities under the sampling policy and the reference are needed.
inline bool NeedsDivergence(const SignalOptions& options) { return options.advantage.reward_beta != 0; }

// The algorithm's row (rl/algorithm), with values that the configuration sets itself replaced. InvalidArgument for an
// unknown name.
struct Choices {
  SignalOptions signal;
  LossOptions loss;
  bool kl_in_reward = false;  // the scheduled weight of the divergence applies to the reward; else to the loss
  UpdateOptions update;
  ValueLossOptions value;
  ImportanceOptions correction;
  EntropyOptions entropy;
  KlOptions kl;
  double baseline_decay = 0;  // of the running mean
  PromptBaselineOptions prompt_baselines;
  int64_t reference_sync_steps = 0;  // 0: the reference never changes
  double reference_mixup_alpha = 0;
  ScheduleOptions schedule;
  AdamWOptions adamw;
};
absl::StatusOr<Choices> ChoicesOf(const Config& config);

// Whether a value function is trained.
inline bool HasValues(const Choices& choices) { return choices.signal.advantage.baseline == Baseline::kValue; }

// Whether anything is compared with a reference model.
inline bool NeedsReference(const Choices& choices) {
  return choices.loss.beta != 0 || choices.signal.advantage.reward_beta != 0 ||
         choices.kl.schedule != KlSchedule::kFixed || RegressesToReference(choices.loss) ||
         choices.signal.advantage.baseline == Baseline::kOptimal;
}

// Whether the state after a step consists of more than weights, moments and counters: see ScheduleState.
inline bool HasSchedules(const Choices& choices) {
  return choices.kl.schedule != KlSchedule::kFixed || choices.entropy.adaptive ||
         choices.signal.advantage.baseline == Baseline::kRunningMean;
}

// Whether a checkpoint, which contains only weights and moments, is enough to resume from: the reference model must be
// the initial one, and schedules and evaluations must have no state.
bool CheckpointsAreStates(const Config& config, const Choices& choices);

// `reward`, if not null, replaces every function that the configuration names. InvalidArgument for an unknown name.
absl::StatusOr<RewardOptions> RewardOptionsOf(const Config& config, RewardFunction reward,
                                              const std::vector<int32_t>& end_tokens);

// Returns how completions of training steps are sampled, with `step` 0. The tokenizer must outlive the result, which
// calls it where `rules` have stops.
GenerateOptions GenerateOptionsOf(const Config& config, const models::Tokenizer& tokenizer, const TurnRules& rules);

// Returns the inputs of a step's metrics. `choices`: those of the step.
MetricInputs MetricInputsOf(const Config& config, const Choices& choices, const RewardOptions& rewards);

}  // namespace reprise::rl

#endif  // RL_LEARNER_CHOICES_H_
