#include "rl/workloads/memory_agent/notes_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/random/draw.h"
#include "core/status/check.h"
#include "rl/workloads/memory_agent/section/memory_section.h"

namespace reprise::rl {
namespace {

using data::MemoryOperation;
using Event = EpisodeMemory::Event;

constexpr int32_t kSummaryMessages = 3, kFilterMessages = 5;
constexpr int32_t kSeededNotes = 5;    // of the memory that stages 1 and 2 begin with: more than they can delete
constexpr int64_t kSolutionNotes = 3;  // that a solution stores: as many as the query at the end should find
// The turn of draws of the messages at the beginning, after turn 0, which is that of the task.
constexpr uint64_t kFirstMessagesTurn = 1;

}  // namespace

NotesWorld::NotesWorld(uint64_t seed, const MemoryTask& task, EpisodeMemory& memory) : seed_(seed), task_(task) {
  if (task_.stage == kMemoryStages) return;
  for (int32_t i = 0; i < kSeededNotes; ++i) CHECK(Add(memory).succeeded);
  ReadMessages(kNumNotes, kFirstMessagesTurn, memory);
}

void NotesWorld::Describe(const std::vector<MemoryOperation>& operation_T, AgentState* state) const {
  if (task_.stage != kMemoryStages) return;
  std::vector<std::string> history;
  for (const MemoryOperation operation : operation_T) history.emplace_back(data::NameOf(operation));
  state->emplace_back("history", std::move(history));
}

void NotesWorld::ReadMessages(int32_t count, uint64_t turn, EpisodeMemory& memory) const {
  // The first message is the task's note; others are drawn among those that follow it.
  const DrawAt at = {.step = task_.step, .prompt = task_.prompt, .turn = turn};
  std::vector<absl::string_view> messages = {task_.note(0)};
  for (const int32_t other : DrawDistinct(seed_, task_.purpose, at, kNumNotes - 1, count - 1)) {
    messages.push_back(task_.note(static_cast<size_t>(other) + 1));
  }
  memory.Read(messages);
}

Event NotesWorld::Add(EpisodeMemory& memory) {
  const absl::string_view note = task_.note(next_note_ % static_cast<size_t>(kNumNotes));
  const std::string id = memory.Add(note);
  ++next_note_;
  if (std::find(ids_.begin(), ids_.end(), id) == ids_.end()) ids_.push_back(id);
  return {true, absl::StrCat("stored ", id, ": ", Quoted(note))};
}

Event NotesWorld::Update(EpisodeMemory& memory) {
  const std::string id = ids_.empty() ? "" : ids_.back();
  const absl::StatusOr<data::MemoryEntry> entry = memory.memory().store().Get(id);
  const std::string content = entry.ok() ? absl::StrCat(entry->content, " [updated]") : "[updated]";
  if (!memory.Update(id, content)) return {false, "failed: nothing is stored to update"};
  return {true, absl::StrCat("updated ", id, ": ", Quoted(content))};
}

Event NotesWorld::Delete(EpisodeMemory& memory) {
  const std::string id = ids_.empty() ? "" : ids_.front();
  if (!memory.Delete(id)) return {false, "failed: nothing is stored to delete"};
  ids_.erase(ids_.begin());
  return {true, absl::StrCat("deleted ", id)};
}

Event NotesWorld::Execute(int64_t t, EpisodeMemory& memory, OperationResult* result) {
  const uint64_t turn = kFirstOperationTurn + static_cast<uint64_t>(t);
  switch (result->operation) {
    case MemoryOperation::kAdd:
      return Add(memory);
    case MemoryOperation::kUpdate:
      return Update(memory);
    case MemoryOperation::kDelete:
      return Delete(memory);
    case MemoryOperation::kRetrieve:
      return memory.Retrieve(task_.query(), result);
    case MemoryOperation::kSummary:
      ReadMessages(kSummaryMessages, turn, memory);
      return memory.Summarize(result);
    case MemoryOperation::kFilter:
      ReadMessages(kFilterMessages, turn, memory);
      return memory.Filter(task_.query(), result);
  }
  return {};
}

MemoryOperation NotesWorld::Solution(int64_t t) const {
  return t < kSolutionNotes ? MemoryOperation::kAdd : MemoryOperation::kUpdate;
}

}  // namespace reprise::rl
