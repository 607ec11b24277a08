#ifndef RL_LEARNER_CHOICES_H_
#define RL_LEARNER_CHOICES_H_

// From a configuration's names to the pieces that they choose.

#include <vector>

#include "absl/status/statusor.h"
#include "rl/advantage/advantages.h"
#include "rl/config/config.h"
#include "rl/learner/step_metrics.h"
#include "rl/learner/updater.h"
#include "rl/loss/options.h"
#include "rl/rollout/generate.h"
#include "rl/schedule/learning_rate.h"

namespace reprise::rl {

// The algorithm's row with the configuration's own choices put over it. InvalidArgument for an unknown name.
struct Choices {
  AdvantageOptions advantage;
  LossOptions loss;
  ScheduleOptions schedule;
  AdamWOptions adamw;
};
absl::StatusOr<Choices> ChoicesOf(const Config& config);

// Whether anything is compared with a frozen reference model.
inline bool NeedsReference(const Choices& choices) {
  return choices.loss.beta != 0 || choices.advantage.reward_beta != 0;
}

// How completions of training steps are sampled; `step` is left 0.
GenerateOptions GenerateOptionsOf(const Config& config, const std::vector<int32_t>& end_tokens);

// What does not change from step to step.
MetricInputs MetricInputsOf(const Config& config, const Choices& choices);

}  // namespace reprise::rl

#endif  // RL_LEARNER_CHOICES_H_
