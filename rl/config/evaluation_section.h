#ifndef RL_CONFIG_EVALUATION_SECTION_H_
#define RL_CONFIG_EVALUATION_SECTION_H_

#include "rl/config/config.h"

namespace reprise::rl {

// Lists the section [evaluation] and its keys, each unsaid at its default: runs that never heard of them keep their
// identity.
void Visit(config::FieldList& list, EvaluationConfig& evaluation);

// Whether a run remembers which of its evaluations was the best one.
inline bool TracksBest(const EvaluationConfig& evaluation) {
  return evaluation.every > 0 && (evaluation.keep_best || evaluation.early_stopping_patience > 0);
}

// What evaluations say of the run's end: whether a step's metric eval_no_improvement has reached the patience.
inline bool EvaluationsEndRun(const EvaluationConfig& evaluation, double no_improvement) {
  return evaluation.early_stopping_patience > 0 &&
         no_improvement >= static_cast<double>(evaluation.early_stopping_patience);
}

}  // namespace reprise::rl

#endif  // RL_CONFIG_EVALUATION_SECTION_H_
