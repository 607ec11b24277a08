#include "rl/memory_agent/simulated_episode.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/random/draw.h"
#include "core/status/check.h"
#include "data/memory/in_memory_store.h"
#include "data/memory/retrieval.h"
#include "kernels/sums/sums.h"
#include "rl/memory_agent/state_text.h"

namespace reprise::rl {
namespace {

using data::MemoryOperation;

constexpr int64_t kMicrosecondsPerMillisecond = 1000;
constexpr int32_t kSummaryMessages = 3, kFilterMessages = 5;
constexpr int32_t kSeededNotes = 5;  // of the memory that stages 1 and 2 begin with: more than they can delete
constexpr char kNothingFits[] = "failed: no message fits into the context window";
constexpr int kLastStage = 3;
// The turns of draws, after turn 0, which is that of the task: the messages at the beginning, and each operation.
constexpr uint64_t kFirstMessagesTurn = 1, kFirstOperationTurn = 2;

data::Similarity SimilarityOf(const MemoryConfig& memory) {
  return memory.similarity == "cosine" ? data::Similarity::kCosine : data::Similarity::kKeywords;
}

// Returns a clock that stands still but for the operations: of the two readings of each, the second is later by
// *latency_us.
std::function<int64_t()> ClockOf(std::shared_ptr<int64_t> latency_us) {
  return [latency_us = std::move(latency_us), now = int64_t{0}, is_running = false]() mutable {
    if (is_running) now += *latency_us;
    is_running = !is_running;
    return now;
  };
}

data::AgentMemory MemoryOf(const MemoryConfig& memory, std::shared_ptr<int64_t> latency_us) {
  data::AgentMemoryOptions options;
  options.now_us = ClockOf(std::move(latency_us));
  options.buffer.capacity = memory.buffer_size;
  options.buffer.context_window = memory.context_window;
  options.similarity = SimilarityOf(memory);
  absl::StatusOr<data::AgentMemory> created =
      data::AgentMemory::Create(std::make_unique<data::InMemoryStore>(), std::move(options));
  CHECK(created.ok());  // the configuration has been checked
  return *std::move(created);
}

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", text, "\""); }

std::string Count(int64_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

int64_t LengthOf(absl::Span<const data::ContextItem> items) {
  int64_t length = 0;
  for (const data::ContextItem& item : items) length += data::CharactersOf(item.content);
  return length;
}

}  // namespace

SimulatedLatency LatencyOf(MemoryOperation operation) {
  switch (operation) {
    case MemoryOperation::kAdd:
      return {120, 40};
    case MemoryOperation::kUpdate:
      return {90, 30};
    case MemoryOperation::kDelete:
      return {60, 20};
    case MemoryOperation::kRetrieve:
      return {150, 50};
    case MemoryOperation::kSummary:
      return {400, 150};
    case MemoryOperation::kFilter:
      return {180, 60};
  }
  return {};
}

SimulatedEpisode::SimulatedEpisode(const MemoryConfig& memory, uint64_t seed, const MemoryTask& task, uint64_t sample)
    : config_(memory),
      seed_(seed),
      task_(task),
      sample_(sample),
      num_steps_(DrawEpisodeLength(seed, task, sample)),
      latency_us_(std::make_shared<int64_t>(0)),
      memory_(MemoryOf(memory, latency_us_)) {
  if (task_.stage == kLastStage) return;
  for (int32_t i = 0; i < kSeededNotes; ++i) CHECK(Add());
  ReadMessages(kNumNotes, kFirstMessagesTurn);
  event_.clear();
}

std::string SimulatedEpisode::StateText() const {
  CHECK(!is_over());
  AgentState state = {{"operation", "pending"}};
  if (task_.stage == 1) {
    state.emplace_back("context", "training");
    return rl::StateText(state);
  }
  state.emplace_back("step", static_cast<int64_t>(operation_T_.size()));
  if (task_.stage == kLastStage) {
    std::vector<std::string> history;
    for (const MemoryOperation operation : operation_T_) history.emplace_back(data::NameOf(operation));
    state.emplace_back("total_steps", num_steps_);
    state.emplace_back("plan", std::string(kPlans[static_cast<size_t>(task_.plan)]));
    state.emplace_back("history", std::move(history));
  }
  return rl::StateText(state);
}

std::vector<data::ContextItem> SimulatedEpisode::ReadMessages(int32_t count, uint64_t turn) {
  // The first message is the task's note; others are drawn among those that follow it.
  const DrawAt at = {.step = task_.step, .prompt = task_.prompt, .turn = turn};
  const std::vector<int32_t> others = DrawDistinct(seed_, task_.purpose, at, kNumNotes - 1, count - 1);
  CHECK(memory_.buffer().Push({.content = std::string(task_.note(0))}).ok());
  for (const int32_t other : others) {
    CHECK(memory_.buffer().Push({.content = std::string(task_.note(static_cast<size_t>(other) + 1))}).ok());
  }
  context_most_ = std::max(context_most_, memory_.buffer().Length());
  return memory_.buffer().Context();
}

uint64_t SimulatedEpisode::NextTurn() const { return kFirstOperationTurn + operation_T_.size(); }

void SimulatedEpisode::ReplaceContext(const std::vector<data::ContextItem>& items) {
  has_prevented_ |= context_most_ <= config_.context_window;
  memory_.buffer().Clear();
  for (const data::ContextItem& item : items) CHECK(memory_.buffer().Push(item).ok());
}

bool SimulatedEpisode::Add() {
  const absl::string_view note = task_.note(next_note_ % static_cast<size_t>(kNumNotes));
  const absl::StatusOr<std::string> id = memory_.Add({.content = std::string(note)});
  CHECK(id.ok());
  ++next_note_;
  if (std::find(ids_.begin(), ids_.end(), *id) == ids_.end()) ids_.push_back(*id);
  event_ = absl::StrCat("stored ", *id, ": ", Quoted(note));
  return true;
}

bool SimulatedEpisode::Update() {
  const std::string id = ids_.empty() ? "" : ids_.back();
  const absl::StatusOr<data::MemoryEntry> entry = memory_.store().Get(id);
  const std::string content = entry.ok() ? absl::StrCat(entry->content, " [updated]") : "[updated]";
  const absl::Status updated = memory_.Update(id, content);
  event_ = updated.ok() ? absl::StrCat("updated ", id, ": ", Quoted(content)) : "failed: nothing is stored to update";
  has_maintained_ |= updated.ok();
  return updated.ok();
}

bool SimulatedEpisode::Delete() {
  const std::string id = ids_.empty() ? "" : ids_.front();
  const bool deleted = memory_.Delete(id).ok();
  if (deleted) ids_.erase(ids_.begin());
  event_ = deleted ? absl::StrCat("deleted ", id) : "failed: nothing is stored to delete";
  has_maintained_ |= deleted;
  return deleted;
}

bool SimulatedEpisode::Retrieve(OperationResult* result) {
  const absl::StatusOr<std::vector<data::MemoryHit>> hits = memory_.Retrieve(task_.query(), config_.optimal_retrieved);
  CHECK(hits.ok());
  std::vector<double> scores;
  for (const data::MemoryHit& hit : *hits) scores.push_back(hit.score);
  result->retrieved = static_cast<int64_t>(hits->size());
  result->relevant = result->retrieved;
  relevance_ = hits->empty() ? 0 : kernels::TreeSum(scores) / static_cast<double>(hits->size());
  context_most_ = std::max(context_most_, memory_.buffer().Length());
  event_ = hits->empty() ? absl::StrCat("failed: found nothing for ", Quoted(task_.query()))
                         : absl::StrCat("found ", Count(result->retrieved, "text"), " for ", Quoted(task_.query()),
                                        ", the best with score ", absl::StrCat(scores.front()));
  return !hits->empty();
}

bool SimulatedEpisode::Summarize(OperationResult* result) {
  const std::vector<data::ContextItem> items = ReadMessages(kSummaryMessages, NextTurn());
  const absl::StatusOr<std::string> summary = memory_.Summary(items);
  result->input_length = LengthOf(items);
  if (!summary.ok()) {
    event_ = kNothingFits;
    return false;
  }
  result->output_length = data::CharactersOf(*summary);
  ReplaceContext({{.content = *summary}});
  event_ = absl::StrCat("summarised ", Count(static_cast<int64_t>(items.size()), "text"), " of ", result->input_length,
                        " characters in ", result->output_length);
  return true;
}

bool SimulatedEpisode::Filter(OperationResult* result) {
  const std::vector<data::ContextItem> items = ReadMessages(kFilterMessages, NextTurn());
  const absl::StatusOr<std::vector<data::ContextItem>> kept =
      memory_.Filter(items, task_.query(), config_.filter_threshold);
  CHECK(kept.ok());
  result->input_length = static_cast<int64_t>(items.size());
  result->output_length = static_cast<int64_t>(kept->size());
  if (items.empty()) {
    event_ = kNothingFits;
    return false;
  }
  ReplaceContext(*kept);
  event_ = absl::StrCat("kept ", result->output_length, " of ", Count(result->input_length, "text"), " about ",
                        Quoted(task_.query()));
  return true;
}

bool SimulatedEpisode::Execute(OperationResult* result) {
  switch (result->operation) {
    case MemoryOperation::kAdd:
      return Add();
    case MemoryOperation::kUpdate:
      return Update();
    case MemoryOperation::kDelete:
      return Delete();
    case MemoryOperation::kRetrieve:
      return Retrieve(result);
    case MemoryOperation::kSummary:
      return Summarize(result);
    case MemoryOperation::kFilter:
      return Filter(result);
  }
  return false;
}

OperationResult SimulatedEpisode::Act(MemoryOperation operation) {
  CHECK(!is_over());
  const SimulatedLatency latency = LatencyOf(operation);
  const int64_t spread_us = static_cast<int64_t>(config_.latency_spread *
                                                 static_cast<double>(latency.spread_ms * kMicrosecondsPerMillisecond));
  const DrawAt at = {.step = task_.step, .prompt = task_.prompt, .sample = sample_, .turn = NextTurn()};
  *latency_us_ =
      latency.mean_ms * kMicrosecondsPerMillisecond - spread_us +
      static_cast<int64_t>(DrawBelow(seed_, Purpose::kEnvironment, at, static_cast<uint64_t>(2 * spread_us + 1)));
  const int64_t before_us = memory_.statistics(operation).total_us;
  OperationResult result = {.operation = operation};
  result.succeeded = Execute(&result);
  const int64_t passed_us = memory_.statistics(operation).total_us - before_us;
  result.latency_ms = static_cast<double>(passed_us) / kMicrosecondsPerMillisecond;
  operation_T_.push_back(operation);
  return result;
}

int64_t SimulatedEpisode::CountRecalled() const {
  const absl::StatusOr<std::vector<data::MemoryHit>> hits =
      data::SearchMemory(memory_.store(), task_.query(), kRecallWanted, SimilarityOf(config_));
  CHECK(hits.ok());
  return static_cast<int64_t>(hits->size());
}

MemoryOutcome SimulatedEpisode::Outcome() const {
  const absl::StatusOr<std::vector<data::MemoryHit>> hits =
      data::SearchMemory(memory_.store(), task_.query(), kNumNotes, data::Similarity::kKeywords);
  const absl::StatusOr<int64_t> stored = memory_.store().Size();
  CHECK(hits.ok() && stored.ok());
  std::string text;
  for (const data::ContextItem& item : memory_.buffer().Context()) absl::StrAppend(&text, item.content, "\n");
  const absl::StatusOr<std::vector<data::ContextItem>> kept =
      data::FilterByQuery({{.content = text}}, task_.query(), /*threshold=*/0);
  CHECK(kept.ok());
  MemoryOutcome outcome;
  if (!hits->empty()) outcome.answer = hits->front().score;
  outcome.context_used = memory_.buffer().Length();
  outcome.context_most = context_most_;
  outcome.has_prevented = has_prevented_;
  outcome.preserved = kept->front().score;
  outcome.stored = *stored;
  outcome.relevant = std::count_if(hits->begin(), hits->end(),
                                   [&](const data::MemoryHit& hit) { return hit.score >= config_.filter_threshold; });
  outcome.has_maintained = has_maintained_;
  outcome.relevance = relevance_;
  outcome.operations = static_cast<int64_t>(operation_T_.size());
  return outcome;
}

}  // namespace reprise::rl
