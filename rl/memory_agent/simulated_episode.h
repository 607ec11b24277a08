#ifndef RL_MEMORY_AGENT_SIMULATED_EPISODE_H_
#define RL_MEMORY_AGENT_SIMULATED_EPISODE_H_

// An episode of a memory agent: operations act on a memory of its own, in a world that is simulated. What happens is a
// function of the seed, the task, the sample and the operations so far; no clock is read.
//
// In stages 1 and 2 the memory begins with notes, in stage 3 it is empty. An operation
//   add       stores the task's next note
//   update    appends " [updated]" to the note that was stored last, and fails where none is stored
//   delete    removes the note that was stored first, and fails where none is stored
//   retrieve  looks the task's query up, and fails if it finds nothing; the texts found enter the short-term memory
//   summary   reads three messages into the short-term memory, and replaces all of it by a summary
//   filter    reads five messages into it, and removes the texts that are not about the query
// Messages are notes, of which the first is that of the task; they are the same for all samples. An operation's latency
// is uniformly distributed, in whole microseconds (SimulatedLatency).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/memory/agent_memory.h"
#include "data/memory/operation.h"
#include "rl/config/config.h"
#include "rl/memory_agent/memory_task.h"
#include "rl/memory_agent/operation_reward.h"
#include "rl/memory_agent/outcome_reward.h"

namespace reprise::rl {

inline constexpr int64_t kRecallWanted = 3;  // texts that the query at the end of stage 3 should find

// Milliseconds, from mean - spread to mean + spread, both included.
struct SimulatedLatency {
  int64_t mean_ms = 0, spread_ms = 0;
};

// Returns the latency of an operation, before memory.latency_spread scales its spread.
SimulatedLatency LatencyOf(data::MemoryOperation operation);

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

  // Returns how many texts the query finds in the memory now, at most kRecallWanted.
  int64_t CountRecalled() const;

  // Returns what the episode's reward as a whole is about, up to now.
  MemoryOutcome Outcome() const;

  const data::AgentMemory& memory() const { return memory_; }

 private:
  // Reads `count` messages into the short-term memory and returns what an operation reads of it.
  std::vector<data::ContextItem> ReadMessages(int32_t count, uint64_t turn);
  uint64_t NextTurn() const;  // that of the next operation's draws
  void ReplaceContext(const std::vector<data::ContextItem>& items);

  bool Add();
  bool Update();
  bool Delete();
  bool Retrieve(OperationResult* result);
  bool Summarize(OperationResult* result);
  bool Filter(OperationResult* result);
  bool Execute(OperationResult* result);

  const MemoryConfig& config_;
  const uint64_t seed_;
  const MemoryTask task_;
  const uint64_t sample_;
  const int64_t num_steps_;
  std::shared_ptr<int64_t> latency_us_;  // of the next operation, for the memory's clock
  data::AgentMemory memory_;
  std::vector<data::MemoryOperation> operation_T_;
  std::vector<std::string> ids_;  // of stored notes, in the order in which they were stored
  size_t next_note_ = 0;
  std::string event_;
  bool has_prevented_ = false, has_maintained_ = false;
  int64_t context_most_ = 0;
  double relevance_ = 0;  // of the last retrieval
};

}  // namespace reprise::rl

#endif  // RL_MEMORY_AGENT_SIMULATED_EPISODE_H_
