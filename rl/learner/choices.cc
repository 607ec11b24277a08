#include "rl/learner/choices.h"

#include <algorithm>

#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/config/evaluation_section.h"
#include "rl/config/workload_traits.h"
#include "rl/learner/schedule_state.h"

namespace reprise::rl {

absl::StatusOr<Choices> ResolveChoices(const Config& config) {
  const OptimizerConfig& optimizer = config.optimizer;
  Choices choices;
  choices.algorithm = config.algorithm;
  choices.algorithm.loss.max_completion_length = Traits(config).most_decisions(config);
  choices.algorithm.loss.entropy_coef = config.algorithm.entropy.entropy_coef;
  choices.algorithm.loss.entropy_floor = config.algorithm.entropy.floor_by_mask ? config.algorithm.entropy.floor : 0.0;
  choices.algorithm.kl.initial = Beta(config.algorithm);
  choices.algorithm.kl.total_updates = std::max<int64_t>(config.run.steps, 1);
  RETURN_IF_ERROR(WithContext(ValidateKlOptions(choices.algorithm.kl), "[algorithm]"));
  choices.schedule = {.schedule = optimizer.schedule,
                      .learning_rate = optimizer.learning_rate,
                      .warmup_steps = optimizer.warmup_steps,
                      .total_steps = config.run.steps,
                      .warmup_start = optimizer.warmup_start,
                      .min_lr_rate = optimizer.min_lr_rate,
                      .warmup_ratio = optimizer.warmup_ratio,
                      .warmup_form = optimizer.warmup_form};
  return choices;
}

bool CheckpointsAreStates(const Config& config, const Choices& choices) {
  const AlgorithmConfig& algorithm = choices.algorithm;
  if (HasSchedules(algorithm) || TracksBest(config.evaluation) || SelectKeptNumbers(config).any()) return false;
  return !NeedsReference(algorithm) || (config.sft.steps == 0 && !algorithm.reference.sync);
}

}  // namespace reprise::rl
