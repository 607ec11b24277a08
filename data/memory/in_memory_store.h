#ifndef DATA_MEMORY_IN_MEMORY_STORE_H_
#define DATA_MEMORY_IN_MEMORY_STORE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "data/memory/long_term_store.h"

namespace reprise::data {

// A long-term store without a file: cheap to make, and a function of the calls alone. Every episode of training has its
// own. One that is bounded loses its oldest entry when it is full and another is added.
class InMemoryStore final : public LongTermStore {
 public:
  // capacity: entries, at least 1.
  explicit InMemoryStore(int64_t capacity = std::numeric_limits<int64_t>::max()) : capacity_(capacity) {}

  absl::StatusOr<int64_t> Size() const override;
  absl::Status ForEach(const std::function<void(const MemoryEntry&)>& visit) const override;

 private:
  absl::StatusOr<std::optional<MemoryEntry>> Find(absl::string_view id) const override;
  absl::Status Insert(const MemoryEntry& entry) override;
  absl::Status Replace(const MemoryEntry& entry) override;
  absl::Status Remove(absl::string_view id) override;
  absl::Status InTransaction(const std::function<absl::Status()>& change) override;

  int64_t capacity_;
  std::map<int64_t, MemoryEntry> entries_;  // by their place in the order
  std::map<std::string, int64_t> places_;   // by id
  int64_t next_place_ = 0;
};

}  // namespace reprise::data

#endif  // DATA_MEMORY_IN_MEMORY_STORE_H_
