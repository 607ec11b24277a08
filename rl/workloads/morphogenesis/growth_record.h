#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_RECORD_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_RECORD_H_

// The record of a step of growing networks as tables:
//
//   hosts      one row per prompt           phase step prompt host_seed
//   episodes   one row per episode          phase step prompt sample host_params logprobs ref_logprobs rewards reward
//                                           advantage
//   networks   one row per epoch, and one   phase step prompt sample epoch and what the controller observes: losses and
//              of the end of an episode     accuracies, the state of the slot, the features
//   decisions  one row per epoch            phase step prompt sample epoch action allowed earned advantage
//   events     one row per event            phase step prompt sample epoch kind severity and what happened
//
// and those that every workload has (rl/record/record_schema.h). data/artifact/FORMAT.md describes the columns.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/random/draw.h"
#include "rl/config/config.h"
#include "rl/record/record_schema.h"
#include "rl/record/step_record.h"
#include "rl/record/step_tables.h"
#include "rl/workloads/morphogenesis/growth_episode.h"

namespace reprise::rl {

// The content of a task: every host of it begins with the same weights, and is trained in the same order.
struct GrowthTask {
  uint64_t host_seed = 0;

  bool operator==(const GrowthTask&) const = default;
};

// Returns the description of the records of a run, whose check is CheckGrowthTables. The configuration must be checked.
RecordSchema GrowthSchema(const Config& config);

// Checks the tables of a step, which may come from an untrusted run: DataLoss, naming stream and row, for stages,
// blueprints, gates or events that do not exist, actions that are not allowed, numbers out of bounds, and rows that are
// missing or do not belong together. What follows from the rows is compared when the step is executed again.
absl::Status CheckGrowthTables(const Config& config, const GrowthRules& rules, const StepTables& step);

// Returns the tables of above, in this order. The contents must be those of GrowthTaskRecord and GrowthEpisodeRecord.
std::vector<StreamTable> GrowthTables(const StepRecord& part);

// Returns the task of a prompt: its host's seed is a draw with the run's seed at the prompt's place.
TaskRecord GrowthTaskRecord(const Config& config, Phase phase, int64_t step, int64_t prompt);
uint64_t HostSeed(uint64_t seed, Purpose purpose, uint64_t step, uint64_t prompt);

// Returns the record of an episode that was played, without log-probabilities and rewards. Errors of ComputeOutcome.
absl::StatusOr<EpisodeRecord> GrowthEpisodeRecord(const GrowthRules& rules, int64_t prompt, int64_t sample,
                                                  PlayedGrowth played);

// Return the content of a record. A record of another workload is a failed check.
const GrowthTask& GetGrowthTask(const TaskRecord& task);
const PlayedGrowth& GetPlayedGrowth(const EpisodeRecord& episode);

// Returns the record of a step from its tables, which CheckGrowthTables must have accepted. Errors of ComputeOutcome,
// with prompt and sample.
absl::StatusOr<StepRecord> ReadGrowthRecord(const GrowthRules& rules, const StepTables& step);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_RECORD_H_
