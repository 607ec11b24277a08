#ifndef RL_WORKLOADS_MEMORY_AGENT_FACTS_RULES_H_
#define RL_WORKLOADS_MEMORY_AGENT_FACTS_RULES_H_

// Rules of episodes about facts that read what a policy can read, for tests and measurements.

#include "data/memory/operation.h"
#include "rl/workloads/memory_agent/memory_task.h"
#include "rl/workloads/memory_agent/simulated_episode.h"

namespace reprise::rl {

// Returns whether something about what the message is about is stored, as the state says.
bool SaysKnown(const SimulatedEpisode& episode);

// Returns the next operation of the rule that always answers correctly: it stores each place and replaces the old one,
// deletes what is gone, and retrieves at the question. Not after the end.
data::MemoryOperation BestFactsOperation(const MemoryTask& task, const SimulatedEpisode& episode);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_FACTS_RULES_H_
