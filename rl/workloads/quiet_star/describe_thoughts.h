#ifndef RL_WORKLOADS_QUIET_STAR_DESCRIBE_THOUGHTS_H_
#define RL_WORKLOADS_QUIET_STAR_DESCRIBE_THOUGHTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "rl/config/config.h"
#include "rl/record/step_tables.h"

namespace reprise::rl {

// Returns a stored step for people: each text, and behind each of its positions the thoughts as text, escaped, with
// their rewards and advantages. Tokens are shown as ids where the model's files (model.path) cannot be read. step:
// CheckThoughtTables must have accepted it. No errors.
absl::StatusOr<std::string> DescribeThoughtStep(const Config& config, const StepTables& step);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_DESCRIBE_THOUGHTS_H_
