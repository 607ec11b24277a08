#ifndef RL_WORKLOADS_BANDIT_BANDIT_RECORD_H_
#define RL_WORKLOADS_BANDIT_BANDIT_RECORD_H_

// The record of a step of the bandit as tables:
//
//   problems  one row per prompt    phase step prompt features allowed best
//   episodes  one row per episode   phase step prompt sample action logprobs ref_logprobs rewards reward advantage
//
// and those that every workload has (rl/record/record_schema.h). data/artifact/FORMAT.md describes the columns.

#include <vector>

#include "absl/status/statusor.h"
#include "rl/record/record_schema.h"
#include "rl/record/step_record.h"
#include "rl/record/step_tables.h"
#include "rl/workloads/bandit/bandit_problem.h"

namespace reprise::rl {

// Returns the description of the records of a run of the bandit, whose check is CheckBanditTables.
RecordSchema BanditSchema(const Config& config);

// Checks the tables of a step, which may come from an untrusted run: DataLoss, naming stream and row, for problems that
// are not of this configuration, actions that their problem does not allow, numbers out of bounds, and rows that are
// missing or do not belong together. Whether the problems are those of the seed is compared when the step is executed
// again.
absl::Status CheckBanditTables(const Config& config, const StepTables& step);

// Returns the tables of problems and episodes, in this order. The content of each task must be a BanditProblem, and
// that of each episode FeatureDecisions (rl/policy/categorical/categorical_policy.h).
std::vector<StreamTable> BanditTables(const StepRecord& part);

// Returns the task of a prompt, whose content is the problem that the world makes there.
TaskRecord BanditTask(const BanditWorld& world, Purpose purpose, int64_t step, int64_t prompt);

// Returns the episode in which this action is chosen, without log-probabilities and rewards.
EpisodeRecord BanditEpisode(const TaskRecord& task, int64_t sample, int32_t action);

// Return the content of a record of the bandit. A record of another workload is a failed check.
const BanditProblem& GetProblem(const TaskRecord& task);
int32_t GetAction(const EpisodeRecord& episode);

// Returns the record of a step from its tables, which CheckBanditTables must have accepted. The tasks are those that
// the world makes for the prompts.
StepRecord RecordOfTables(const BanditWorld& world, const StepTables& step);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_BANDIT_BANDIT_RECORD_H_
