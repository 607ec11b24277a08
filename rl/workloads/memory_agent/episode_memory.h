#ifndef RL_WORKLOADS_MEMORY_AGENT_EPISODE_MEMORY_H_
#define RL_WORKLOADS_MEMORY_AGENT_EPISODE_MEMORY_H_

// The memory of a simulated episode: operations take the time that they are given, no clock is read, and what the
// episode's reward as a whole is about is measured.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/memory/agent_memory.h"
#include "data/memory/retrieval.h"
#include "rl/config/config.h"
#include "rl/workloads/memory_agent/operation_reward.h"
#include "rl/workloads/memory_agent/outcome_reward.h"

namespace reprise::rl {

// Returns the text in quotes.
std::string Quoted(absl::string_view text);

class EpisodeMemory {
 public:
  // What an operation did: a sentence for people, which begins with "failed: " if it failed.
  struct Event {
    bool succeeded = false;
    std::string text;
  };

  // `config` must outlive this and be checked. store_size: the texts of the long-term store, of which the oldest makes
  // room for a new one.
  EpisodeMemory(const MemoryConfig& config, int64_t store_size);

  // Sets the time that each of the next operations takes.
  void SetLatency(int64_t latency_us) { *latency_us_ = latency_us; }

  // Appends texts to the short-term memory.
  void Read(absl::Span<const absl::string_view> texts);

  // Stores a text, and returns its id.
  std::string Add(absl::string_view text);
  // Return false if nothing is stored under the id.
  bool Update(absl::string_view id, absl::string_view text);
  bool Delete(absl::string_view id);

  // Looks the query up; the texts found enter the short-term memory. Fails if it finds none.
  Event Retrieve(absl::string_view query, OperationResult* result);
  // Replaces the short-term memory by a summary of its context. Fails without a context.
  Event Summarize(OperationResult* result);
  // Removes from the short-term memory what is not about the query, or not in its context. Fails without a context.
  Event Filter(absl::string_view query, OperationResult* result);

  // Returns the stored texts that the query finds, at most `most`, best first.
  std::vector<data::MemoryHit> Search(absl::string_view query, int64_t most, data::Similarity similarity) const;
  data::Similarity similarity() const;

  // Returns what an episode about the query, of this many operations, is rewarded for as a whole. Its answer is the
  // best score of a stored text.
  MemoryOutcome Outcome(absl::string_view query, int64_t operations) const;

  const data::AgentMemory& memory() const { return memory_; }
  int64_t stored() const;  // texts

 private:
  void ReplaceContext(absl::Span<const data::ContextItem> items);

  const MemoryConfig& config_;
  std::shared_ptr<int64_t> latency_us_;  // for the memory's clock
  data::AgentMemory memory_;
  bool has_prevented_ = false, has_maintained_ = false;
  int64_t context_most_ = 0;
  double relevance_ = 0;  // of the last retrieval
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_EPISODE_MEMORY_H_
