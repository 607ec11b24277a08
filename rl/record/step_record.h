#ifndef RL_RECORD_STEP_RECORD_H_
#define RL_RECORD_STEP_RECORD_H_

// The record of a step in memory, which a workload converts to tables and back.

#include <any>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/record/episode_record.h"
#include "rl/record/record_schema.h"

namespace reprise::rl {

struct TaskRecord {
  int64_t prompt = 0;     // index within the step
  std::any content = {};  // what only the workload and its policy understand
};

// Returns the task of an episode; `task_P` are consecutive prompts, including the episode's.
inline const TaskRecord& FindTask(absl::Span<const TaskRecord> task_P, const EpisodeRecord& episode) {
  return task_P[episode.prompt - task_P.front().prompt];
}

struct StepRecord : StepResults {
  std::vector<TaskRecord> task_P;
  std::vector<EpisodeRecord> episode_N;  // by prompt, then sample
  std::any content;                      // what only the workload understands
};

}  // namespace reprise::rl

#endif  // RL_RECORD_STEP_RECORD_H_
