#ifndef RL_WORKLOADS_BANDIT_PREPARED_BANDIT_H_
#define RL_WORKLOADS_BANDIT_PREPARED_BANDIT_H_

#include "rl/workload/workload_kind.h"

namespace reprise::rl {

// The bandit of [bandit]. It is prepared with a policy of initial weights, and exported without a value function, with
// the policy's shape. InvalidArgument for a bandit.hidden that is no list of widths.
extern const WorkloadKind kBandit;

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_BANDIT_PREPARED_BANDIT_H_
