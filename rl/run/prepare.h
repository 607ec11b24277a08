#ifndef RL_RUN_PREPARE_H_
#define RL_RUN_PREPARE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/tensor/flat_layout.h"
#include "rl/config/config.h"
#include "rl/workload/run_parts.h"

namespace reprise::rl {

// Returns the parts of a run of run.workload. Deterministic. The ranks of a machine share its cores (ChooseThreads).
// Errors: those of the workload's preparation; InvalidArgument for a pattern of optimizer.learning_rate_factors that
// names no tensor of the policy.
absl::StatusOr<RunParts> PrepareRun(const Config& config, int ranks_on_this_machine = 1,
                                    RunUse use = RunUse::kTraining);

// Returns the names of the layout's tensors, in its order.
std::vector<std::string> ListTensorNames(const FlatLayout& layout);

// Returns execution.threads; for 0, an equal share of the processors that this process may use for each of the ranks
// that share them, at least one.
int ChooseThreads(const ExecutionConfig& execution, int ranks_on_this_machine);

}  // namespace reprise::rl

#endif  // RL_RUN_PREPARE_H_
