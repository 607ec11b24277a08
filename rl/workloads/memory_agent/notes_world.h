#ifndef RL_WORKLOADS_MEMORY_AGENT_NOTES_WORLD_H_
#define RL_WORKLOADS_MEMORY_AGENT_NOTES_WORLD_H_

// The world of episodes about notes. In stages 1 and 2 the memory begins with notes, in stage 3 it is empty. An
// operation
//   add       stores the task's next note
//   update    appends " [updated]" to the note that was stored last, and fails where none is stored
//   delete    removes the note that was stored first, and fails where none is stored
//   retrieve  looks the task's query up, and fails if it finds nothing; the texts found enter the short-term memory
//   summary   reads three messages into the short-term memory, and replaces all of it by a summary
//   filter    reads five messages into it, and removes the texts that are not about the query
// Messages are notes, of which the first is that of the task; they are the same for all samples.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/memory/operation.h"
#include "rl/workloads/memory_agent/episode_memory.h"
#include "rl/workloads/memory_agent/memory_task.h"
#include "rl/workloads/memory_agent/operation_reward.h"
#include "rl/workloads/memory_agent/state_text.h"

namespace reprise::rl {

class NotesWorld {
 public:
  NotesWorld(uint64_t seed, const MemoryTask& task, EpisodeMemory& memory);

  // Appends what the state before the next operation has beside its step. operation_T: the operations so far.
  void Describe(const std::vector<data::MemoryOperation>& operation_T, AgentState* state) const;

  // Executes operation number `t`, and completes its result.
  EpisodeMemory::Event Execute(int64_t t, EpisodeMemory& memory, OperationResult* result);

  // Returns the operation number `t` of the SFT phase's solution: three notes are stored, then the last one is updated.
  data::MemoryOperation Solution(int64_t t) const;

 private:
  // Reads `count` messages into the short-term memory.
  void ReadMessages(int32_t count, uint64_t turn, EpisodeMemory& memory) const;
  EpisodeMemory::Event Add(EpisodeMemory& memory);
  EpisodeMemory::Event Update(EpisodeMemory& memory);
  EpisodeMemory::Event Delete(EpisodeMemory& memory);

  uint64_t seed_;
  MemoryTask task_;
  std::vector<std::string> ids_;  // of stored notes, in the order in which they were stored
  size_t next_note_ = 0;
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_NOTES_WORLD_H_
