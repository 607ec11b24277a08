#include "data/memory/agent_memory.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"

namespace reprise::data {

absl::StatusOr<AgentMemory> AgentMemory::Create(std::unique_ptr<LongTermStore> store, AgentMemoryOptions options) {
  if (store == nullptr) return absl::InvalidArgumentError("the memory of an agent has no long-term store");
  if (options.now_us == nullptr) return absl::InvalidArgumentError("the memory of an agent has no clock");
  ASSIGN_OR_RETURN(ShortTermBuffer buffer, ShortTermBuffer::Create(options.buffer));
  return AgentMemory(std::move(store), std::move(buffer), std::move(options));
}

template <typename Work>
auto AgentMemory::Counted(MemoryOperation operation, const Work& work) {
  const int64_t begin = options_.now_us();
  auto result = work(begin);
  OperationStatistics& statistics = statistics_[static_cast<size_t>(operation)];
  ++statistics.count;
  if (result.ok()) ++statistics.success;
  statistics.total_us += options_.now_us() - begin;
  return result;
}

absl::StatusOr<std::string> AgentMemory::Add(const NewMemory& memory) {
  return Counted(MemoryOperation::kAdd, [&](int64_t now) { return store_->Add(memory, now); });
}

absl::Status AgentMemory::Update(absl::string_view id, absl::string_view content, const MemoryMetadata& metadata) {
  return Counted(MemoryOperation::kUpdate, [&](int64_t now) { return store_->Update(id, content, metadata, now); });
}

absl::Status AgentMemory::Delete(absl::string_view id) {
  return Counted(MemoryOperation::kDelete, [&](int64_t) { return store_->Delete(id); });
}

absl::StatusOr<std::vector<MemoryHit>> AgentMemory::Retrieve(absl::string_view query, int64_t top_k) {
  return Counted(MemoryOperation::kRetrieve, [&](int64_t) -> absl::StatusOr<std::vector<MemoryHit>> {
    ASSIGN_OR_RETURN(std::vector<MemoryHit> hits, SearchMemory(*store_, query, top_k, options_.similarity));
    for (const MemoryHit& hit : hits) RETURN_IF_ERROR(buffer_.Push(ItemOf(hit)));
    return hits;
  });
}

absl::StatusOr<std::string> AgentMemory::Summary() { return Summary(buffer_.Context()); }

absl::StatusOr<std::string> AgentMemory::Summary(absl::Span<const ContextItem> items) {
  return Counted(MemoryOperation::kSummary, [&](int64_t) -> absl::StatusOr<std::string> {
    absl::StatusOr<std::string> plain = SummaryOf(items);
    if (!plain.ok() || options_.summarize == nullptr) return plain;
    ASSIGN_OR_RETURN(std::string summary,
                     options_.summarize(absl::StrJoin(items, "\n", [](std::string* out, const ContextItem& item) {
                       absl::StrAppend(out, item.content);
                     })));
    if (summary.empty()) return absl::FailedPreconditionError("the model returned an empty summary");
    return summary;
  });
}

absl::StatusOr<std::vector<ContextItem>> AgentMemory::Filter(absl::Span<const ContextItem> items, double threshold) {
  return Counted(MemoryOperation::kFilter, [&](int64_t) { return FilterByScore(items, threshold); });
}

absl::StatusOr<std::vector<ContextItem>> AgentMemory::Filter(absl::Span<const ContextItem> items,
                                                             absl::string_view query, double threshold) {
  return Counted(MemoryOperation::kFilter, [&](int64_t) { return FilterByQuery(items, query, threshold); });
}

absl::StatusOr<std::string> AgentMemory::ProcessQuery(absl::string_view query, int64_t top_k, double threshold) {
  ASSIGN_OR_RETURN(const std::vector<MemoryHit> hits, Retrieve(query, top_k));
  if (hits.empty()) return absl::NotFoundError(absl::StrCat("no memory matches the query ", Quoted(query)));
  std::vector<ContextItem> items;
  for (const MemoryHit& hit : hits) items.push_back(ItemOf(hit));
  ASSIGN_OR_RETURN(const std::vector<ContextItem> kept, Filter(items, threshold));
  if (kept.empty()) {
    return absl::NotFoundError(absl::StrCat("no memory has a score of ", threshold, " or more for the query ",
                                            Quoted(query), "; the best has ", items.front().score));
  }
  return Summary(kept);
}

}  // namespace reprise::data
