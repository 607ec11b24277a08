#ifndef RL_WORKLOADS_COMPLETIONS_KIND_COMPLETIONS_KIND_H_
#define RL_WORKLOADS_COMPLETIONS_KIND_COMPLETIONS_KIND_H_

#include "rl/workload/workload_kind.h"

namespace reprise::rl {

// Completions of prompts, and episodes in text with an environment.
extern const WorkloadKind kCompletions;

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_KIND_COMPLETIONS_KIND_H_
