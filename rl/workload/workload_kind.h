#ifndef RL_WORKLOAD_WORKLOAD_KIND_H_
#define RL_WORKLOAD_WORKLOAD_KIND_H_

// A kind of workload, as verbs see it: what can be said and done before a run is prepared, and its preparation, whose
// result is a PreparedWorkload. Each folder of rl/workloads defines one; rl/run/workloads.cc lists them.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "core/tensor/flat_layout.h"
#include "rl/config/config.h"
#include "rl/record/record_schema.h"
#include "rl/record/step_tables.h"
#include "rl/workload/path_key.h"
#include "rl/workload/run_cost.h"
#include "rl/workload/run_parts.h"

namespace reprise::rl {

struct WorkloadKind {
  absl::string_view name;  // of run.workload
  // Sets the parts' workload, and adds to its external files and warnings.
  absl::Status (*prepare)(const Config& config, RunUse use, RunParts* parts);
  // Describes the records of a run.
  RecordSchema (*schema)(const Config& config);
  // Returns the layout of the policy's parameters. Reads no weights.
  absl::StatusOr<FlatLayout> (*layout)(const Config& config);
  // Writes weights of this layout into a directory, as PreparedWorkload::Export writes the policy's.
  absl::Status (*export_weights)(const Config& config, absl::Span<const float> weights, FileSystem& files,
                                 const std::string& directory);
  // Estimates a run on `ranks` ranks of `threads` threads, from the configuration and the files that it names, except
  // weights. Null: the workload does not estimate its cost.
  absl::StatusOr<RunCost> (*estimate)(const Config& config, int64_t ranks, int64_t threads) = nullptr;
  // Returns a stored step as a text for people, which stands before its tables. DataLoss for tables that no run writes.
  // Null: the tables say all.
  absl::StatusOr<std::string> (*describe_step)(const Config& config, const StepTables& step) = nullptr;
  // The keys of its own section whose values are paths.
  absl::Span<const PathKey> path_keys = {};
};

}  // namespace reprise::rl

#endif  // RL_WORKLOAD_WORKLOAD_KIND_H_
