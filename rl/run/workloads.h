#ifndef RL_RUN_WORKLOADS_H_
#define RL_RUN_WORKLOADS_H_

// The kinds of workloads that a run can be of (run.workload): the one place that lists them.

#include "absl/types/span.h"
#include "rl/config/config.h"
#include "rl/record/record_schema.h"
#include "rl/workload/workload_kind.h"

namespace reprise::rl {

// Returns all kinds, in the order in which pages list them.
absl::Span<const WorkloadKind* const> WorkloadKinds();

// Returns the kind that run.workload names, which the configuration has checked.
const WorkloadKind& KindOf(const Config& config);

inline RecordSchema MakeRecordSchema(const Config& config) { return KindOf(config).schema(config); }

}  // namespace reprise::rl

#endif  // RL_RUN_WORKLOADS_H_
