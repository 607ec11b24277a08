#ifndef RL_WORKLOADS_MEMORY_AGENT_OUTCOME_REWARD_H_
#define RL_WORKLOADS_MEMORY_AGENT_OUTCOME_REWARD_H_

// The reward of a whole episode of a memory agent, given once at its end and shared by all of its decisions (AgeMem:
// terminal reward of a task, its context and its memory). All terms have the same weight within their part:
//   task     score of the answer, -1 without an answer
//   context  mean of compression max(0, 1 - used / capacity), prevention (1 if a summary or a filter worked before the
//            context first exceeded its capacity) and preservation (share of the key words that the context still has)
//   memory   mean of storage (stored texts that are about the task / stored texts), maintenance (1 if an update or a
//            delete succeeded) and relevance (mean score of what was retrieved)
//   penalty  -1 for too many operations, and -0.5 if the context ever exceeded its capacity
//   total    (task + context + memory) / 3 + penalty
// Departure: the paper asks a language model to judge answers and stored texts; here scores are shares of words, so
// that a reward is a function of the episode.

#include <cstdint>
#include <optional>

namespace reprise::rl {

// What is measured of an episode.
struct MemoryOutcome {
  std::optional<double> answer = std::nullopt;  // score in [0, 1]; nullopt: no answer
  int64_t context_used = 0;                     // characters of the short-term memory at the end
  int64_t context_most = 0;                     // greatest number of them
  bool has_prevented = false;
  double preserved = 0;              // share of the key words, in [0, 1]
  int64_t stored = 0, relevant = 0;  // texts in the long-term memory, and how many of them are about the task
  bool has_maintained = false;
  double relevance = 0;  // mean score of retrieved texts, in [0, 1]
  int64_t operations = 0;

  bool operator==(const MemoryOutcome&) const = default;
};

struct OutcomeLimits {
  int64_t context_capacity = 4096;  // characters, at least 1
  int64_t most_operations = 8;
};

struct OutcomeReward {
  double task = 0, context = 0, memory = 0, penalty = 0, total = 0;

  bool operator==(const OutcomeReward&) const = default;
};

// Pure.
OutcomeReward ComputeReward(const MemoryOutcome& outcome, const OutcomeLimits& limits);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_OUTCOME_REWARD_H_
