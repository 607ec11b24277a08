#ifndef RL_RUN_STORED_RECORDS_H_
#define RL_RUN_STORED_RECORDS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/artifact/run_reader.h"
#include "rl/config/config.h"
#include "rl/record/step_tables.h"

namespace reprise::rl {

// Returns the steps of a run file: a whole run or a segment of one. DataLoss when its streams are not those of the
// configuration's run, have versions that this product does not read, or when a step has rows of another step than its
// number's, or rows that are inconsistent, or the error of CheckEpisodes.
absl::StatusOr<std::vector<StepTables>> ReadSteps(const RunReader& reader, const Config& config);

// DataLoss unless the step has one episode for each sample of each of its prompts, as every workload draws them. The
// configuration is as untrusted as the rows: without this, a number in it would multiply the work of a reproduction,
// which draws as many prompts as it says before it misses the first row. Pure.
absl::Status CheckEpisodes(const Config& config, const StepTables& step);

}  // namespace reprise::rl

#endif  // RL_RUN_STORED_RECORDS_H_
