#include "rl/workloads/memory_agent/kind/memory_agent_kind.h"

#include "rl/workloads/memory_agent/kind/memory_agent_cost.h"
#include "rl/workloads/memory_agent/prepared_memory.h"

namespace reprise::rl {

constinit const WorkloadKind kMemoryAgent = {.name = "memory_agent",
                                             .prepare = PrepareMemory,
                                             .schema = MakeMemorySchema,
                                             .layout = MakeMemoryLayout,
                                             .export_weights = ExportMemory,
                                             .estimate = EstimateMemoryAgent};

}  // namespace reprise::rl
