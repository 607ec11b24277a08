#ifndef RL_WORKLOADS_MEMORY_AGENT_FACTS_WORLD_H_
#define RL_WORKLOADS_MEMORY_AGENT_FACTS_WORLD_H_

// The world of episodes about facts (rl/workloads/memory_agent/facts_story.h). Before each operation a message enters
// the short-term memory; at the end a question stands, which does not. With what the message or the question is about
// as the query, an operation
//   add       stores the message, and fails at a question
//   update    replaces the first stored text about it by the message, and fails at a question or without such a text
//   delete    removes the first stored text about it, and fails without one
//   retrieve  looks it up, and fails if nothing is found; the texts found enter the short-term memory
//   summary   replaces the short-term memory by a summary
//   filter    removes the texts that are not about it from the short-term memory
// A text is about something if it contains all of its words. The answer is what the short-term memory says at the end:
// of its context, the last text that names a place of what the question is about. So an answer is wrong if the fact was
// not stored, was displaced from the store, was stored again without replacing the old one, or was not retrieved.

#include <cstdint>
#include <string>
#include <vector>

#include "data/memory/operation.h"
#include "rl/workloads/memory_agent/episode_memory.h"
#include "rl/workloads/memory_agent/facts_story.h"
#include "rl/workloads/memory_agent/operation_reward.h"
#include "rl/workloads/memory_agent/state_text.h"

namespace reprise::rl {

struct FactsAnswer {
  std::string question, expected;
  std::string answered = "";  // "": the short-term memory says nothing
  bool is_correct() const { return answered == expected; }

  bool operator==(const FactsAnswer&) const = default;
};

class FactsWorld {
 public:
  FactsWorld(std::vector<FactMessage> message_T, int64_t store_size, EpisodeMemory& memory);

  // Appends what the state before operation number `t` has beside its step: the message, whether a text about the same
  // is stored, and how many texts are.
  void Describe(int64_t t, const EpisodeMemory& memory, AgentState* state) const;
  static void Describe(const FactMessage& message, bool is_known, int64_t stored, AgentState* state);

  // Executes operation number `t`, completes its result, and reads the next message.
  EpisodeMemory::Event Execute(int64_t t, EpisodeMemory& memory, OperationResult* result) const;

  // Returns what a rule does that does not look at the messages: it stores each while there is room, then filters, and
  // retrieves at the question.
  data::MemoryOperation Solution(int64_t t, const EpisodeMemory& memory) const;

  FactsAnswer Answer(const EpisodeMemory& memory) const;

 private:
  const FactMessage& MessageAt(int64_t t) const { return message_T_[t]; }
  void Read(int64_t t, EpisodeMemory& memory) const;
  // Returns the id of the first stored text about the message's thing; "" if there is none.
  static std::string KnownId(const FactMessage& message, const EpisodeMemory& memory);

  std::vector<FactMessage> message_T_;
  int64_t store_size_;
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_FACTS_WORLD_H_
