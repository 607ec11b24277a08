#ifndef RL_WORKLOADS_MEMORY_AGENT_MEMORY_METRICS_H_
#define RL_WORKLOADS_MEMORY_AGENT_MEMORY_METRICS_H_

// What is measured of a memory agent: in each step of training, and in evaluations, which have evaluation.num_prompts
// held-out episodes of each stage. All evaluations of a run share them.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/comm/communicator.h"
#include "rl/config/config.h"
#include "rl/record/record_schema.h"
#include "rl/record/step_record.h"
#include "rl/workloads/memory_agent/episode_report.h"
#include "rl/workloads/memory_agent/memory_task.h"

namespace reprise::rl {

// Appends the metrics of a step of training, docs/algorithms.md: the stage, and what its operations did and earned.
void AddMemoryMetrics(const Config& config, const StepRecord& record, Metrics* metrics);

// Returns the last stage of the curriculum.
int LastStage(const MemoryConfig& memory);

// Returns a held-out task of a stage.
MemoryTask HeldOutMemoryTask(const Config& config, int stage, int64_t index);

// Returns a rank's part of all held-out tasks, which are ordered by stage.
std::vector<MemoryTask> HeldOutMemoryTasks(const Config& config, int rank, int ranks);

// The score of the policy on one task. Plain data: sent between ranks as bytes.
struct HeldOutScore {
  int64_t stage = 0;
  double greedy_reward = 0, reward = 0;              // of the most probable operations; mean over the samples
  int64_t greedy_operations = 0, greedy_failed = 0;  // operations, and those of them that failed
  int64_t operations = 0, failed = 0;                // the same of all samples
  int64_t greedy_correct = 0, correct = 0;           // 1 if the most probable operations answer; samples that do
};

// greedy_P: the reports of the most probable operations, by task; report_N: of the samples, by task and then sample.
std::vector<HeldOutScore> HeldOutScores(absl::Span<const MemoryTask> task_P, absl::Span<const EpisodeReport> greedy_P,
                                        absl::Span<const EpisodeReport> report_N);

// Returns the metrics: those of MemoryScoreNames, by stage, and those of ScoreMetrics (rl/evaluation/scores) of the
// curriculum's last stage, where an episode is correct if its answer is, or, without a question, if none of its
// operations fails. Sorted by name.
Metrics HeldOutMetrics(const Config& config, absl::Span<const HeldOutScore> scores);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_MEMORY_METRICS_H_
