#ifndef RL_WORKLOADS_BANDIT_PREPARED_BANDIT_H_
#define RL_WORKLOADS_BANDIT_PREPARED_BANDIT_H_

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

// Sets the parts' workload: the bandit of [bandit], with a policy of initial weights. InvalidArgument for a
// bandit.hidden that is no list of widths; errors of AlgorithmOf.
absl::Status PrepareBandit(const Config& config, RunUse use, RunParts* parts);

// Returns the layout of the policy's parameters. Errors as above.
absl::StatusOr<FlatLayout> BanditLayoutOf(const Config& config);

// Writes weights of that layout, without a value function, and the policy's shape. Errors as above, and those of
// writing.
absl::Status ExportBandit(const Config& config, absl::Span<const float> weights, FileSystem& files,
                          const std::string& directory);

// Describes the records of a run of the bandit.
RecordSchema BanditSchemaOf(const Config& config);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_BANDIT_PREPARED_BANDIT_H_
