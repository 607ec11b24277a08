#ifndef RL_WORKLOADS_MEMORY_AGENT_SIMULATED_EPISODE_H_
#define RL_WORKLOADS_MEMORY_AGENT_SIMULATED_EPISODE_H_

// An episode of a memory agent: operations act on a memory of its own, in a world that is simulated. What happens is a
// function of the seed, the task, the sample and the operations so far; no clock is read. The world is one of notes
// (rl/workloads/memory_agent/notes_world.h) or of facts (rl/workloads/memory_agent/facts_world.h). An operation's
// latency is uniformly distributed, in whole microseconds (SimulatedLatency).

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "data/memory/agent_memory.h"
#include "data/memory/operation.h"
#include "rl/config/config.h"
#include "rl/workloads/memory_agent/episode_memory.h"
#include "rl/workloads/memory_agent/facts_world.h"
#include "rl/workloads/memory_agent/memory_task.h"
#include "rl/workloads/memory_agent/notes_world.h"
#include "rl/workloads/memory_agent/operation_reward.h"
#include "rl/workloads/memory_agent/outcome_reward.h"

namespace reprise::rl {

inline constexpr int64_t kRecallWanted = 3;  // texts that the query at the end of stage 3 should find

// Milliseconds, from mean - spread to mean + spread, both included.
struct SimulatedLatency {
  int64_t mean_ms = 0, spread_ms = 0;
};

// Returns the latency of an operation, before memory.latency_spread scales its spread.
SimulatedLatency OperationLatency(data::MemoryOperation operation);

class SimulatedEpisode {
 public:
  // `memory` must outlive this and be checked; it and the task's place determine the episode.
  SimulatedEpisode(const MemoryConfig& memory, uint64_t seed, const MemoryTask& task, uint64_t sample);

  int64_t num_steps() const { return num_steps_; }
  bool is_over() const { return static_cast<int64_t>(operation_T_.size()) == num_steps_; }
  const std::vector<data::MemoryOperation>& operations() const { return operation_T_; }  // so far

  // Returns the text of the state before the next operation, which does not depend on that operation. Not after the
  // end (checked).
  std::string StateText() const;

  // Executes the next operation. Not after the end (checked).
  OperationResult Act(data::MemoryOperation operation);

  // Returns a sentence, for people, on what the last operation did; "" before the first.
  const std::string& event() const { return event_; }

  // Returns the next operation of the SFT phase's solution. Not after the end (checked).
  data::MemoryOperation Solution() const;

  // Returns how many texts the query finds in the memory now, at most kRecallWanted.
  int64_t CountRecalled() const;

  // Returns what the short-term memory answers now; none if the episode is not about facts.
  std::optional<FactsAnswer> Answer() const;

  // Returns what the episode's reward as a whole is about, up to now.
  MemoryOutcome Outcome() const;

  const data::AgentMemory& memory() const { return memory_.memory(); }

 private:
  int64_t turn() const { return static_cast<int64_t>(operation_T_.size()); }
  int64_t DrawLatency(data::MemoryOperation operation) const;  // in microseconds

  const MemoryConfig& config_;
  const uint64_t seed_;
  const MemoryTask task_;
  const uint64_t sample_;
  const int64_t num_steps_;
  EpisodeMemory memory_;
  std::variant<NotesWorld, FactsWorld> world_;
  std::vector<data::MemoryOperation> operation_T_;
  std::string event_;
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_SIMULATED_EPISODE_H_
