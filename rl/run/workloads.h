#ifndef RL_RUN_WORKLOADS_H_
#define RL_RUN_WORKLOADS_H_

// The kinds of workloads that a run can be of (run.workload): the one place that lists them.

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
#include "rl/workload/run_cost.h"
#include "rl/workload/run_parts.h"

namespace reprise::rl {

struct WorkloadKind {
  absl::string_view name;
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
};

// Returns the kind that run.workload names, which the configuration has checked.
const WorkloadKind& KindOf(const Config& config);

inline RecordSchema RecordSchemaOf(const Config& config) { return KindOf(config).schema(config); }

}  // namespace reprise::rl

#endif  // RL_RUN_WORKLOADS_H_
