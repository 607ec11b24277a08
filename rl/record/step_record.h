#ifndef RL_RECORD_STEP_RECORD_H_
#define RL_RECORD_STEP_RECORD_H_

// The record of a step in memory, which a workload converts to tables and back.

#include <any>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/digest/sha256.h"
#include "rl/environment/reply.h"
#include "rl/record/episode_record.h"
#include "rl/record/record_schema.h"

namespace reprise::rl {

struct TaskRecord {
  int64_t prompt = 0;     // index within the step
  std::any content = {};  // what only the workload and its policy understand
};

// Returns the task of an episode; `task_P` are consecutive prompts, including the episode's.
inline const TaskRecord& TaskOf(absl::Span<const TaskRecord> task_P, const EpisodeRecord& episode) {
  return task_P[static_cast<size_t>(episode.prompt - task_P.front().prompt)];
}

// A reply of the external process in an evaluation of a step.
struct EvaluationReply {
  bool on_start = false;  // in the evaluation before the first training step, not in the one after this step
  bool greedy = false;    // to the problem's greedy completion or episode, not to a sample
  int64_t prompt = 0, sample = 0;
  int64_t turn = 0;  // kScore: the reward for the finished episode, which is reply.reward; NaN: none
  Reply reply = {};
  Digest asked = {};  // SHA-256 of the episode's tokens, as int32, up to the end of the action that it replies to

  static constexpr int64_t kScore = -1;
};

struct StepRecord : StepResults {
  std::vector<TaskRecord> task_P;
  std::vector<EpisodeRecord> episode_N;             // by prompt, then sample
  std::vector<EvaluationReply> evaluation_replies;  // on_start first; greedy first; by prompt, sample
};

}  // namespace reprise::rl

#endif  // RL_RECORD_STEP_RECORD_H_
