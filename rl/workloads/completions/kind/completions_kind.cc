#include "rl/workloads/completions/kind/completions_kind.h"

#include "rl/workloads/completions/kind/completions_cost.h"
#include "rl/workloads/completions/prepared_completions.h"

namespace reprise::rl {

constinit const WorkloadKind kCompletions = {.name = "completions",
                                             .prepare = PrepareCompletions,
                                             .schema = MakeCompletionSchema,
                                             .layout = MakeCompletionLayout,
                                             .export_weights = ExportCompletions,
                                             .estimate = EstimateCompletions};

}  // namespace reprise::rl
