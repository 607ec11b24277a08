#ifndef RL_CONFIG_EVALUATION_SECTION_H_
#define RL_CONFIG_EVALUATION_SECTION_H_

#include "rl/config/config.h"

namespace reprise::rl {

class Conditions;  // rl/config/key_conditions.h

// Lists the section [evaluation] and its keys.
void Visit(config::FieldList& list, EvaluationConfig& evaluation, const Conditions& when);

// Returns whether a run tracks its best evaluation.
inline bool TracksBest(const EvaluationConfig& evaluation) {
  return evaluation.every > 0 && (evaluation.keep_best || evaluation.early_stopping_patience > 0);
}

// The metric by which training rewards, and not evaluations, tell which weights are the best.
inline constexpr char kRewardMovingAverage[] = "reward_moving_average";

}  // namespace reprise::rl

#endif  // RL_CONFIG_EVALUATION_SECTION_H_
