#ifndef PIPELINES_TRAINED_PROMPTS_H_
#define PIPELINES_TRAINED_PROMPTS_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "pipelines/evaluation_target.h"
#include "pipelines/stored/stored_run.h"

namespace reprise {

// Returns the prompts on which a run's weights of a step were, or may have been, trained: the file of the training
// problems may be given as the held-out one. Pure.
absl::StatusOr<std::set<std::string>> PromptsToTrainOn(const StoredRun& run, const EvaluationTarget& target,
                                                       const EvaluatedModel& model);

// The same for a model that is evaluated on its own task, or on that of a configuration. Pure.
absl::StatusOr<std::set<std::string>> PromptsKnownOfModel(const EvaluationTarget& target, const rl::RunParts& parts);

}  // namespace reprise

#endif  // PIPELINES_TRAINED_PROMPTS_H_
