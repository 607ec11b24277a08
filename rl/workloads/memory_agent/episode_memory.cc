#include "rl/workloads/memory_agent/episode_memory.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "data/memory/in_memory_store.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

constexpr char kNothingFits[] = "failed: no message fits into the context window";

// Returns a clock that stands still but for the operations: of the two readings of each, the second is later by
// *latency_us.
std::function<int64_t()> MakeClock(std::shared_ptr<int64_t> latency_us) {
  return [latency_us = std::move(latency_us), now = int64_t{0}, is_running = false]() mutable {
    if (is_running) now += *latency_us;
    is_running = !is_running;
    return now;
  };
}

data::Similarity ToSimilarity(const MemoryConfig& config) {
  return config.similarity == MemorySimilarity::kCosine ? data::Similarity::kCosine : data::Similarity::kKeywords;
}

data::AgentMemory MakeAgentMemory(const MemoryConfig& config, int64_t store_size, std::shared_ptr<int64_t> latency_us) {
  data::AgentMemoryOptions options;
  options.now_us = MakeClock(std::move(latency_us));
  options.buffer.capacity = config.buffer_size;
  options.buffer.context_window = config.context_window;
  options.similarity = ToSimilarity(config);
  absl::StatusOr<data::AgentMemory> created =
      data::AgentMemory::Create(std::make_unique<data::InMemoryStore>(store_size), std::move(options));
  CHECK(created.ok());  // the configuration has been checked
  return *std::move(created);
}

std::string Count(int64_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

int64_t TotalLength(absl::Span<const data::ContextItem> items) {
  int64_t length = 0;
  for (const data::ContextItem& item : items) length += data::CharactersOf(item.content);
  return length;
}

}  // namespace

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", text, "\""); }

EpisodeMemory::EpisodeMemory(const MemoryConfig& config, int64_t store_size)
    : config_(config),
      latency_us_(std::make_shared<int64_t>(0)),
      memory_(MakeAgentMemory(config, store_size, latency_us_)) {}

data::Similarity EpisodeMemory::similarity() const { return ToSimilarity(config_); }

int64_t EpisodeMemory::stored() const {
  const absl::StatusOr<int64_t> stored = memory_.store().Size();
  CHECK(stored.ok());
  return *stored;
}

void EpisodeMemory::Read(absl::Span<const absl::string_view> texts) {
  for (const absl::string_view text : texts) CHECK(memory_.buffer().Push({.content = std::string(text)}).ok());
  context_most_ = std::max(context_most_, memory_.buffer().Length());
}

void EpisodeMemory::ReplaceContext(absl::Span<const data::ContextItem> items) {
  has_prevented_ |= context_most_ <= config_.context_window;
  memory_.buffer().Clear();
  for (const data::ContextItem& item : items) CHECK(memory_.buffer().Push(item).ok());
}

std::string EpisodeMemory::Add(absl::string_view text) {
  absl::StatusOr<std::string> id = memory_.Add({.content = std::string(text)});
  CHECK(id.ok());
  return *std::move(id);
}

bool EpisodeMemory::Update(absl::string_view id, absl::string_view text) {
  const bool updated = memory_.Update(id, text).ok();
  has_maintained_ |= updated;
  return updated;
}

bool EpisodeMemory::Delete(absl::string_view id) {
  const bool deleted = memory_.Delete(id).ok();
  has_maintained_ |= deleted;
  return deleted;
}

EpisodeMemory::Event EpisodeMemory::Retrieve(absl::string_view query, OperationResult* result) {
  const absl::StatusOr<std::vector<data::MemoryHit>> hits = memory_.Retrieve(query, config_.optimal_retrieved);
  CHECK(hits.ok());
  std::vector<double> scores;
  for (const data::MemoryHit& hit : *hits) scores.push_back(hit.score);
  result->retrieved = static_cast<int64_t>(hits->size());
  result->relevant = result->retrieved;
  relevance_ = hits->empty() ? 0 : kernels::TreeSum(scores) / static_cast<double>(hits->size());
  context_most_ = std::max(context_most_, memory_.buffer().Length());
  if (hits->empty()) return {false, absl::StrCat("failed: found nothing for ", Quoted(query))};
  return {true, absl::StrCat("found ", Count(result->retrieved, "text"), " for ", Quoted(query),
                             ", the best with score ", absl::StrCat(scores.front()))};
}

EpisodeMemory::Event EpisodeMemory::Summarize(OperationResult* result) {
  const std::vector<data::ContextItem> items = memory_.buffer().Context();
  const absl::StatusOr<std::string> summary = memory_.Summary(items);
  result->input_length = TotalLength(items);
  if (!summary.ok()) return {false, kNothingFits};
  result->output_length = data::CharactersOf(*summary);
  ReplaceContext({{.content = *summary}});
  return {true, absl::StrCat("summarised ", Count(static_cast<int64_t>(items.size()), "text"), " of ",
                             result->input_length, " characters in ", result->output_length)};
}

EpisodeMemory::Event EpisodeMemory::Filter(absl::string_view query, OperationResult* result) {
  const std::vector<data::ContextItem> items = memory_.buffer().Context();
  const absl::StatusOr<std::vector<data::ContextItem>> kept = memory_.Filter(items, query, config_.filter_threshold);
  CHECK(kept.ok());
  result->input_length = static_cast<int64_t>(items.size());
  result->output_length = static_cast<int64_t>(kept->size());
  if (items.empty()) return {false, kNothingFits};
  ReplaceContext(*kept);
  return {true, absl::StrCat("kept ", result->output_length, " of ", Count(result->input_length, "text"), " about ",
                             Quoted(query))};
}

std::vector<data::MemoryHit> EpisodeMemory::Search(absl::string_view query, int64_t most,
                                                   data::Similarity similarity) const {
  absl::StatusOr<std::vector<data::MemoryHit>> hits = data::SearchMemory(memory_.store(), query, most, similarity);
  CHECK(hits.ok());
  return *std::move(hits);
}

MemoryOutcome EpisodeMemory::Outcome(absl::string_view query, int64_t operations) const {
  const std::vector<data::MemoryHit> hits = Search(query, std::max<int64_t>(1, stored()), data::Similarity::kKeywords);
  std::string text;
  for (const data::ContextItem& item : memory_.buffer().Context()) absl::StrAppend(&text, item.content, "\n");
  const absl::StatusOr<std::vector<data::ContextItem>> kept =
      data::FilterByQuery({{.content = text}}, query, /*threshold=*/0);
  CHECK(kept.ok());
  MemoryOutcome outcome;
  if (!hits.empty()) outcome.answer = hits.front().score;
  outcome.context_used = memory_.buffer().Length();
  outcome.context_most = context_most_;
  outcome.has_prevented = has_prevented_;
  outcome.preserved = kept->front().score;
  outcome.stored = stored();
  outcome.relevant = std::count_if(hits.begin(), hits.end(),
                                   [&](const data::MemoryHit& hit) { return hit.score >= config_.filter_threshold; });
  outcome.has_maintained = has_maintained_;
  outcome.relevance = relevance_;
  outcome.operations = operations;
  return outcome;
}

}  // namespace reprise::rl
