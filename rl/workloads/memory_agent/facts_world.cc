#include "rl/workloads/memory_agent/facts_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise::rl {
namespace {

using data::MemoryOperation;
using Event = EpisodeMemory::Event;

absl::string_view MessageQuery(const FactMessage& message) { return kThings[static_cast<size_t>(message.thing)]; }

bool IsQuestion(const FactMessage& message) { return message.kind == FactMessage::Kind::kQuestion; }

bool IsAboutAll(const data::MemoryHit& hit) { return hit.score == 1; }  // of the query's words

Event AddMessage(EpisodeMemory& memory, const FactMessage& message) {
  if (IsQuestion(message)) return {false, "failed: a question cannot be stored"};
  const std::string id = memory.Add(FormatMessage(message));
  return {true, absl::StrCat("stored ", id, ": ", Quoted(FormatMessage(message)))};
}

Event UpdateMessage(EpisodeMemory& memory, const std::string& id, const FactMessage& message) {
  if (IsQuestion(message)) return {false, "failed: a question cannot be stored"};
  if (!memory.Update(id, FormatMessage(message))) {
    return {false, absl::StrCat("failed: nothing about ", Quoted(MessageQuery(message)), " is stored to update")};
  }
  return {true, absl::StrCat("updated ", id, ": ", Quoted(FormatMessage(message)))};
}

Event DeleteMessage(EpisodeMemory& memory, const std::string& id, const FactMessage& message) {
  if (!memory.Delete(id)) {
    return {false, absl::StrCat("failed: nothing about ", Quoted(MessageQuery(message)), " is stored to delete")};
  }
  return {true, absl::StrCat("deleted ", id)};
}

}  // namespace

FactsWorld::FactsWorld(std::vector<FactMessage> message_T, int64_t store_size, EpisodeMemory& memory)
    : message_T_(std::move(message_T)), store_size_(store_size) {
  Read(0, memory);
}

void FactsWorld::Read(int64_t t, EpisodeMemory& memory) const {
  if (t == static_cast<int64_t>(message_T_.size()) || IsQuestion(MessageAt(t))) return;
  const std::string text = FormatMessage(MessageAt(t));
  memory.Read({text});
}

std::string FactsWorld::KnownId(const FactMessage& message, const EpisodeMemory& memory) {
  const std::vector<data::MemoryHit> best = memory.Search(MessageQuery(message), 1, data::Similarity::kKeywords);
  return !best.empty() && IsAboutAll(best.front()) ? best.front().entry.id : "";
}

void FactsWorld::Describe(const FactMessage& message, bool is_known, int64_t stored, AgentState* state) {
  state->emplace_back("message", FormatMessage(message));
  state->emplace_back("known", is_known);
  state->emplace_back("stored", stored);
}

void FactsWorld::Describe(int64_t t, const EpisodeMemory& memory, AgentState* state) const {
  Describe(MessageAt(t), !KnownId(MessageAt(t), memory).empty(), memory.stored(), state);
}

Event FactsWorld::Execute(int64_t t, EpisodeMemory& memory, OperationResult* result) const {
  const FactMessage& message = MessageAt(t);
  const std::string id = KnownId(message, memory);
  Event event;
  switch (result->operation) {
    case MemoryOperation::kAdd:
      event = AddMessage(memory, message);
      break;
    case MemoryOperation::kUpdate:
      event = UpdateMessage(memory, id, message);
      break;
    case MemoryOperation::kDelete:
      event = DeleteMessage(memory, id, message);
      break;
    case MemoryOperation::kRetrieve:
      event = memory.Retrieve(MessageQuery(message), result);
      break;
    case MemoryOperation::kSummary:
      event = memory.Summarize(result);
      break;
    case MemoryOperation::kFilter:
      event = memory.Filter(MessageQuery(message), result);
      break;
  }
  Read(t + 1, memory);
  return event;
}

MemoryOperation FactsWorld::Solution(int64_t t, const EpisodeMemory& memory) const {
  if (IsQuestion(MessageAt(t))) return MemoryOperation::kRetrieve;
  return memory.stored() < store_size_ ? MemoryOperation::kAdd : MemoryOperation::kFilter;
}

FactsAnswer FactsWorld::Answer(const EpisodeMemory& memory) const {
  const FactMessage& question = message_T_.back();
  FactsAnswer answer = {.question = FormatMessage(question), .expected = std::string(kPlaces[question.place])};
  for (const data::ContextItem& item : memory.memory().buffer().Context()) {
    std::string place = PlaceIn(item.content, question.thing);
    if (!place.empty()) answer.answered = std::move(place);
  }
  return answer;
}

}  // namespace reprise::rl
