#ifndef RL_WORKLOADS_MEMORY_AGENT_KIND_MEMORY_AGENT_KIND_H_
#define RL_WORKLOADS_MEMORY_AGENT_KIND_MEMORY_AGENT_KIND_H_

#include "rl/workload/workload_kind.h"

namespace reprise::rl {

// The memory agent of [memory].
extern const WorkloadKind kMemoryAgent;

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_KIND_MEMORY_AGENT_KIND_H_
