#ifndef RL_WORKLOADS_QUIET_STAR_PREPARED_QUIET_STAR_H_
#define RL_WORKLOADS_QUIET_STAR_PREPARED_QUIET_STAR_H_

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

// Sets the parts' workload: a model that thinks. Errors of the model's files; InvalidArgument for
// texts that the tokenizer cannot encode or the model has no positions for, and for heads that the model cannot have.
absl::Status PrepareQuietStar(const Config& config, RunUse use, RunParts* parts);

// Returns the layout of the policy's parameters: the decoder's, whose vocabulary ends with the thinking tokens, then
// the heads'. Errors as above.
absl::StatusOr<FlatLayout> MakeQuietStarLayout(const Config& config);

// Writes weights of that layout, without a value function, as a model directory: the heads are further tensors, which
// Transformers leaves out. Errors as above, and those of writing.
absl::Status ExportQuietStar(const Config& config, absl::Span<const float> weights, FileSystem& files,
                             const std::string& directory);

// Describes the records of a run.
RecordSchema MakeQuietStarSchema(const Config& config);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_PREPARED_QUIET_STAR_H_
