#ifndef RL_CONFIG_EVALUATION_SECTION_H_
#define RL_CONFIG_EVALUATION_SECTION_H_

#include "rl/config/config.h"

namespace reprise::rl {

class Conditions;  // rl/config/key_conditions.h

// Lists the section [evaluation] and its keys, each omitted at its default, so that runs from before they existed keep
// their identity.
void Visit(config::FieldList& list, EvaluationConfig& evaluation, const Conditions& when);

// Returns whether a run tracks its best evaluation.
inline bool TracksBest(const EvaluationConfig& evaluation) {
  return evaluation.every > 0 && (evaluation.keep_best || evaluation.early_stopping_patience > 0);
}

// The metric by which training rewards, and not evaluations, tell which weights are the best.
inline constexpr char kRewardMovingAverage[] = "reward_moving_average";

// Returns whether early stopping triggers: a step's metric eval_no_improvement has reached the patience.
inline bool EvaluationsEndRun(const EvaluationConfig& evaluation, double no_improvement) {
  return evaluation.early_stopping_patience > 0 &&
         no_improvement >= static_cast<double>(evaluation.early_stopping_patience);
}

}  // namespace reprise::rl

#endif  // RL_CONFIG_EVALUATION_SECTION_H_
