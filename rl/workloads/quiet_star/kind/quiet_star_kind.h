#ifndef RL_WORKLOADS_QUIET_STAR_KIND_QUIET_STAR_KIND_H_
#define RL_WORKLOADS_QUIET_STAR_KIND_QUIET_STAR_KIND_H_

#include "rl/workload/workload_kind.h"

namespace reprise::rl {

// The model that thinks, of [quiet_star].
extern const WorkloadKind kQuietStar;

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_KIND_QUIET_STAR_KIND_H_
