#ifndef RL_RUN_EARLY_END_H_
#define RL_RUN_EARLY_END_H_

// How the record of a run says that its warm-up, or the run itself, ended before all of its steps: by metrics of the
// last step. All functions are pure.

#include <cstdint>
#include <optional>

#include "rl/config/evaluation_section.h"
#include "rl/config/workload_traits.h"
#include "rl/record/record_schema.h"
#include "rl/run/step_number.h"

namespace reprise::rl {

// Returns whether a run can end before its last step.
inline bool MayEndEarly(const Config& config) {
  const std::optional<FailureRule> failures = Traits(config).trends(config).failures;
  return config.evaluation.early_stopping_patience > 0 || (failures && failures->patience > 0);
}

// Returns whether the run ended with this step of training: evaluations did not improve, or their tests failed.
inline bool EndsRunEarly(const Config& config, const StepResults& step) {
  if (EvaluationsEndRun(config.evaluation, MetricOf(step, "eval_no_improvement"))) return true;
  const std::optional<FailureRule> failures = Traits(config).trends(config).failures;
  return failures && FailuresEndRun(config, MetricOf(step, failures->failures));
}

// Returns whether the warm-up ended with this step, and was shorter than warm_up.steps.
inline bool EndsWarmUpEarly(const Config& config, const StepResults& step) {
  return step.phase == Phase::kWarmUp && Traits(config).trends(config).warm_up && step.step < config.warm_up.steps &&
         MetricOf(step, kWarmUpStepsLeft) == static_cast<double>(config.warm_up.steps - step.step);
}

// Returns the number of the step that follows `step` in the run. The numbers of steps of the warm-up that were not
// taken are left out.
inline int64_t NextNumber(const Config& config, const StepResults& step) {
  if (EndsWarmUpEarly(config, step)) return ArtifactStep(config, Phase::kTraining, 1);
  return ArtifactStep(config, step.phase, step.step) + 1;
}

}  // namespace reprise::rl

#endif  // RL_RUN_EARLY_END_H_
