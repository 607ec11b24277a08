#ifndef RL_CONFIG_EVALUATION_CHECK_H_
#define RL_CONFIG_EVALUATION_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "rl/config/config.h"

namespace reprise::rl {

// Cross-field validation of [evaluation]: returns InvalidArgument, with a remedy, for keys that conflict with each
// other or with the run's data. Pure.
absl::Status CheckEvaluation(const Config& config);

// Returns whether evaluations know which answers are correct, and so have accuracies: in a run of completions where
// evaluation.correct_reward is set, there is an environment, or a reward compares with the task's answer. Rewards by an
// external process alone can have any scale. Pure.
bool DefinesAccuracy(const Config& config);

// Returns the names of the metrics of an evaluation, if the run makes any, without what compares several evaluations
// (eval_best). Pure.
std::vector<std::string> EvaluationMetricNames(const Config& config);

}  // namespace reprise::rl

#endif  // RL_CONFIG_EVALUATION_CHECK_H_
