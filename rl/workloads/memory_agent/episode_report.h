#ifndef RL_WORKLOADS_MEMORY_AGENT_EPISODE_REPORT_H_
#define RL_WORKLOADS_MEMORY_AGENT_EPISODE_REPORT_H_

// What an episode's operations did and earned: executes them again in the simulated world, from which states, results
// and rewards follow.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "data/memory/operation.h"
#include "rl/config/config.h"
#include "rl/workloads/memory_agent/facts_world.h"
#include "rl/workloads/memory_agent/memory_task.h"
#include "rl/workloads/memory_agent/operation_reward.h"
#include "rl/workloads/memory_agent/outcome_reward.h"

namespace reprise::rl {

struct DecisionReport {
  std::string state;  // the text before the operation
  OperationResult result;
  OperationReward reward;
  std::string event;  // a sentence on what it did
  // The composite reward and, in stage 3, an equal part of the bonus for what the query finds at the end; in an episode
  // about facts, memory.answer_reward if its answer is correct.
  double earned = 0;
};

struct EpisodeReport {
  std::vector<DecisionReport> decision_T;
  double recall_bonus = 0;            // the whole of it
  std::optional<FactsAnswer> answer;  // of an episode about facts
  MemoryOutcome outcome;
  OutcomeReward outcome_reward;
  bool has_one_reward = false;  // memory.reward is agemem: operations earn nothing by themselves
  // memory.reward composite: the mean of what the operations earned; agemem: the reward of the outcome.
  double reward = 0;

  std::vector<double> earned_T() const;
  int64_t num_failed() const;
  // Whether the answer is correct, or, in an episode that has none, no operation failed.
  bool is_correct() const;
};

OperationRewardOptions MakeOperationRewardOptions(const MemoryConfig& memory);

// operation_T: all of the episode, as many as DrawEpisodeLength returns (checked). Pure.
EpisodeReport ReportEpisode(const MemoryConfig& memory, uint64_t seed, const MemoryTask& task, uint64_t sample,
                            absl::Span<const data::MemoryOperation> operation_T);

// Returns the report as a text for people: the task, and for each operation its state, what it did, and its reward.
// Pure.
std::string FormatTranscript(const MemoryTask& task, const EpisodeReport& report);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_EPISODE_REPORT_H_
