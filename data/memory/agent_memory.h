#ifndef DATA_MEMORY_AGENT_MEMORY_H_
#define DATA_MEMORY_AGENT_MEMORY_H_

// The memory of an agent: a long-term store, a short-term buffer, the six operations on them, and statistics of each
// operation. Every operation returns its result or the reason why there is none.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/memory/long_term_store.h"
#include "data/memory/operation.h"
#include "data/memory/retrieval.h"
#include "data/memory/short_term_buffer.h"

namespace reprise::data {

struct OperationStatistics {
  int64_t count = 0;
  int64_t success = 0;   // of them returned no error
  int64_t total_us = 0;  // microseconds that all of them took, on the clock of the memory

  friend bool operator==(const OperationStatistics&, const OperationStatistics&) = default;
};

struct AgentMemoryOptions {
  // Microseconds from any origin, read at the beginning of each operation, which is also the timestamp that it stores,
  // and at its end. Training passes simulated time, so that nothing depends on the machine.
  std::function<int64_t()> now_us = nullptr;
  ShortTermOptions buffer = {};
  Similarity similarity = Similarity::kKeywords;
  // Asks a model for a summary of texts, one a line. Without it a summary is that of SummaryOf.
  std::function<absl::StatusOr<std::string>(const std::string& texts)> summarize = nullptr;
};

// Not thread-safe. An operation that fails changes nothing but the statistics.
class AgentMemory {
 public:
  // InvalidArgument if there is no store or no clock, and as ShortTermBuffer::Create.
  static absl::StatusOr<AgentMemory> Create(std::unique_ptr<LongTermStore> store, AgentMemoryOptions options);

  // As the functions of LongTermStore.
  absl::StatusOr<std::string> Add(const NewMemory& memory);
  absl::Status Update(absl::string_view id, absl::string_view content, const MemoryMetadata& metadata = {});
  absl::Status Delete(absl::string_view id);

  // Returns what SearchMemory finds, best first, and appends it to the buffer. Finding nothing is no error.
  absl::StatusOr<std::vector<MemoryHit>> Retrieve(absl::string_view query, int64_t top_k = kTopK);

  // Summarizes the items, or without them ShortTermBuffer::Context(). FailedPrecondition if there are none, or if the
  // model returned no text; its error if it returned one.
  absl::StatusOr<std::string> Summary();
  absl::StatusOr<std::string> Summary(absl::Span<const ContextItem> items);

  // FilterByScore and FilterByQuery. The buffer stays as it is: it has a filter of its own.
  absl::StatusOr<std::vector<ContextItem>> Filter(absl::Span<const ContextItem> items,
                                                  double threshold = kFilterThreshold);
  absl::StatusOr<std::vector<ContextItem>> Filter(absl::Span<const ContextItem> items, absl::string_view query,
                                                  double threshold = kFilterThreshold);

  // Retrieves memories, filters them by their scores, and summarizes what is left: three operations. NotFound if
  // nothing is left.
  absl::StatusOr<std::string> ProcessQuery(absl::string_view query, int64_t top_k = kTopK,
                                           double threshold = kFilterThreshold);

  const LongTermStore& store() const { return *store_; }
  const ShortTermBuffer& buffer() const { return buffer_; }
  ShortTermBuffer& buffer() { return buffer_; }
  const OperationStatistics& statistics(MemoryOperation operation) const {
    return statistics_[static_cast<size_t>(operation)];
  }

 private:
  AgentMemory(std::unique_ptr<LongTermStore> store, ShortTermBuffer buffer, AgentMemoryOptions options)
      : store_(std::move(store)), buffer_(std::move(buffer)), options_(std::move(options)) {}

  // Executes `work`, which takes the timestamp of its beginning, and counts it.
  template <typename Work>
  auto Counted(MemoryOperation operation, const Work& work);

  std::unique_ptr<LongTermStore> store_;
  ShortTermBuffer buffer_;
  AgentMemoryOptions options_;
  std::array<OperationStatistics, kMemoryOperationCount> statistics_ = {};
};

}  // namespace reprise::data

#endif  // DATA_MEMORY_AGENT_MEMORY_H_
