#ifndef RL_WORKLOADS_MORPHOGENESIS_KIND_GROWTH_KIND_H_
#define RL_WORKLOADS_MORPHOGENESIS_KIND_GROWTH_KIND_H_

#include "rl/workload/workload_kind.h"

namespace reprise::rl {

// Growing networks, of [morphogenesis].
extern const WorkloadKind kMorphogenesis;

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_KIND_GROWTH_KIND_H_
