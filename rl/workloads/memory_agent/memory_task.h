#ifndef RL_WORKLOADS_MEMORY_AGENT_MEMORY_TASK_H_
#define RL_WORKLOADS_MEMORY_AGENT_MEMORY_TASK_H_

// The tasks of a memory agent, and their texts: notes that can be remembered, or what is told in an episode about facts
// (memory.task), and the agent's plans.

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/random/draw.h"
#include "rl/workloads/memory_agent/facts_story.h"

namespace reprise::rl {

// The notes. What precedes a note's first comma is the query by which it is looked up.
inline constexpr absl::string_view kNotes[] = {
    "The harbour office raised its berthing fees by four percent, citing the cost of dredging the northern channel.",
    "Wheat deliveries to the mill fell for a third week, although the harbour kept its night shift.",
    "The ferry company ordered two electric boats, to be delivered before the summer timetable begins.",
    "Fuel prices at the northern pier eased on Monday, after a tanker arrived two days early.",
    "The fishing fleet reported its best herring catch in nine years, most of it landed at the northern pier.",
    "The town council approved the new cold store, with work on the harbour road to begin in May.",
    "Rain closed the summer market for two days, and the ferry sailed half empty.",
    "The mill signed a contract for rye from the islands, at a price below that of last year's wheat.",
    "Repairs to the lighthouse will take six weeks, so ships that arrive at night need a pilot.",
    "The pilot station hired three trainees, its first in nine years."};
inline constexpr int32_t kNumNotes = static_cast<int32_t>(std::size(kNotes));

inline constexpr absl::string_view kPlans[] = {
    "Store what matters, then answer from memory.", "Keep the memory small and up to date.",
    "Collect facts first and condense them later.", "Look things up before adding anything new."};
inline constexpr int32_t kNumPlans = static_cast<int32_t>(std::size(kPlans));

// The turn of the draws of an episode's first operation, after those of its task and of the messages at the beginning.
inline constexpr uint64_t kFirstOperationTurn = 2;

// What a note is looked up by. Pure.
absl::string_view QueryFor(absl::string_view note);

// Returns count of the numbers below n, all different, in random order: at least one draw at `at` for each, of which
// the token is the number's place. 0 <= count <= n (checked). Pure.
std::vector<int32_t> DrawDistinct(uint64_t seed, Purpose purpose, DrawAt at, int32_t n, int32_t count);

struct MemoryTask {
  int stage = 1;                     // of the curriculum: 1, 2 or 3
  Purpose purpose = Purpose::kTask;  // kTask, kSftTask or kEvaluationTask
  uint64_t step = 0, prompt = 0;     // its place; step 0 in evaluations
  int32_t plan = 0;                  // index of kPlans; shown in stage 3
  std::vector<int32_t> note_S = {};  // all notes, in the order in which they are stored; the task is about the first
  std::vector<FactMessage> message_T = {};  // of a task about facts, which has no notes

  bool is_about_facts() const { return !message_T.empty(); }

  absl::string_view note(size_t index) const { return kNotes[note_S[index]]; }
  absl::string_view query() const {
    return is_about_facts() ? kThings[static_cast<size_t>(message_T.back().thing)] : QueryFor(note(0));
  }

  bool operator==(const MemoryTask&) const = default;
};

// Returns the task at a place, a function of the arguments alone. has_facts: whether those of stage 3 are about facts.
// Pure.
MemoryTask DrawMemoryTask(uint64_t seed, Purpose purpose, int stage, uint64_t step, uint64_t prompt,
                          bool has_facts = false);

// Returns the number of operations of an episode: uniform among the lengths of its task's stage (kLengthsOfStage), or
// the number of messages of a task about facts. Pure.
int64_t DrawEpisodeLength(uint64_t seed, const MemoryTask& task, uint64_t sample);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_MEMORY_TASK_H_
