#ifndef RL_RUN_EARLY_END_H_
#define RL_RUN_EARLY_END_H_

// How the record of a run says that its SFT phase, or the run itself, ended before all of its steps: by metrics of the
// last step. All functions are pure.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rl/config/evaluation_section.h"
#include "rl/config/workload_traits.h"
#include "rl/record/record_schema.h"
#include "rl/run/step_number.h"

namespace reprise::rl {

// A run ends with the first step of training at which a metric has reached a value.
struct EarlyEnd {
  std::string metric;
  int64_t value = 0;
};

// Returns what can end a run before its last step: evaluations that do not improve, and tests of theirs that fail.
inline std::vector<EarlyEnd> EarlyEnds(const Config& config) {
  std::vector<EarlyEnd> ends;
  const int64_t patience = config.evaluation.early_stopping_patience;
  if (patience > 0) ends.push_back({"eval_no_improvement", patience});
  const std::optional<FailureRule> failures = Traits(config).trends(config).failures;
  if (failures && failures->patience > 0) ends.push_back({std::string(failures->failures), failures->patience});
  return ends;
}

// Returns whether a run can end before its last step.
inline bool MayEndEarly(const Config& config) { return !EarlyEnds(config).empty(); }

// Returns whether the run ended with this step of training.
inline bool EndsRunEarly(const Config& config, const StepResults& step) {
  const std::vector<EarlyEnd> ends = EarlyEnds(config);
  return std::any_of(ends.begin(), ends.end(), [&](const EarlyEnd& end) {
    return GetMetric(step, end.metric) >= static_cast<double>(end.value);
  });
}

// Returns whether the SFT phase ended with this step, and was shorter than sft.steps.
inline bool EndsSftEarly(const Config& config, const StepResults& step) {
  return step.phase == Phase::kSft && Traits(config).trends(config).sft && step.step < config.sft.steps &&
         GetMetric(step, kSftStepsLeft) == static_cast<double>(config.sft.steps - step.step);
}

// Returns the number of the step that follows `step` in the run. The numbers of steps of the SFT phase that were not
// taken are left out.
inline int64_t NextNumber(const Config& config, const StepResults& step) {
  if (EndsSftEarly(config, step)) return ArtifactStep(config, Phase::kTraining, 1);
  return ArtifactStep(config, step.phase, step.step) + 1;
}

}  // namespace reprise::rl

#endif  // RL_RUN_EARLY_END_H_
