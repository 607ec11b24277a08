#ifndef RL_WORKLOADS_MEMORY_AGENT_MEMORY_RECORD_H_
#define RL_WORKLOADS_MEMORY_AGENT_MEMORY_RECORD_H_

// The record of a step of a memory agent as tables:
//
//   tasks      one row per prompt      phase step prompt stage plan notes
//   episodes   one row per episode     phase step prompt sample total_steps logprobs behaviour_logprobs ref_logprobs
//                                      rewards reward advantage
//   decisions  one row per operation   phase step prompt sample turn action state succeeded latency retrieved
//                                      input_length output_length task efficiency quality composite earned
//   answers    one row per episode     phase step prompt sample question expected answered correct
//              (of the third stage with memory.task facts)
//
// and those that every workload has (rl/record/record_schema.h). data/artifact/FORMAT.md describes the columns.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "data/memory/operation.h"
#include "rl/config/config.h"
#include "rl/record/record_schema.h"
#include "rl/record/step_record.h"
#include "rl/record/step_tables.h"
#include "rl/workloads/memory_agent/episode_report.h"
#include "rl/workloads/memory_agent/memory_task.h"

namespace reprise::rl {

// Returns the description of the records of a run, whose check is CheckMemoryTables. The stream of the policy's counts
// has a row of none where it does not count.
RecordSchema MemorySchema(const Config& config);

// Checks the tables of a step, which may come from an untrusted run: DataLoss, naming stream and row, for tasks of
// another stage, operations that do not exist, episodes of another length than their place has, numbers out of bounds,
// answers whose mark does not fit, and rows that are missing or do not belong together. Whether tasks, states and
// results are those of the seed is compared when the step is executed again.
absl::Status CheckMemoryTables(const Config& config, const StepTables& step);

// Returns the tables of tasks, episodes, decisions and, with memory.task facts, answers, in this order. The content of
// each task must be a MemoryTask, and that of each episode TextDecisions (rl/policy/encoder/text_decisions.h).
std::vector<StreamTable> MemoryTables(const Config& config, const StepRecord& part);

// Returns the task of a prompt of a step: its stage is that of the step, in the SFT phase the third.
TaskRecord MemoryTaskRecord(const Config& config, Phase phase, int64_t step, int64_t prompt);

// Returns an episode of these operations, without log-probabilities and rewards. token_TS: its states; may be empty
// where nothing is computed with the policy.
EpisodeRecord MemoryEpisodeRecord(const TaskRecord& task, int64_t sample,
                                  absl::Span<const data::MemoryOperation> operation_T,
                                  std::vector<std::vector<int32_t>> token_TS = {});

// Return the content of a record of a memory agent. A record of another workload is a failed check.
const MemoryTask& GetMemoryTask(const TaskRecord& task);
std::vector<data::MemoryOperation> GetOperations(const EpisodeRecord& episode);

// Returns the report of an episode of the record.
EpisodeReport RebuildReport(const Config& config, const TaskRecord& task, const EpisodeRecord& episode);

// Returns the record of a step from its tables, which CheckMemoryTables must have accepted; the episodes' states are
// left out. The tasks are those of the prompts.
StepRecord ReadMemoryRecord(const Config& config, const StepTables& step);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_MEMORY_RECORD_H_
