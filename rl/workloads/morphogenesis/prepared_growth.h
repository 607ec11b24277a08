#ifndef RL_WORKLOADS_MORPHOGENESIS_PREPARED_GROWTH_H_
#define RL_WORKLOADS_MORPHOGENESIS_PREPARED_GROWTH_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "core/tensor/flat_layout.h"
#include "rl/config/config.h"
#include "rl/record/record_schema.h"
#include "rl/workload/run_parts.h"

namespace reprise::rl {

// Sets the parts' workload: growing networks of [morphogenesis], with a controller of initial weights and the examples
// of their hosts, of which it adds the digests of files. Errors: those of GrowthExamples::Load; InvalidArgument for a
// host or a controller that cannot be.
absl::Status PrepareGrowth(const Config& config, RunUse use, RunParts* parts);

// Returns the layout of the controller's parameters. Errors as above.
absl::StatusOr<FlatLayout> MakeGrowthLayout(const Config& config);

// Writes weights of that layout, without a value function, and the controller's shape, features and actions. Errors as
// above, and those of writing.
absl::Status ExportGrowth(const Config& config, absl::Span<const float> weights, FileSystem& files,
                          const std::string& directory);

// Describes the records of a run.
RecordSchema MakeGrowthSchema(const Config& config);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_PREPARED_GROWTH_H_
