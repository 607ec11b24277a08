#include "data/memory/in_memory_store.h"

namespace reprise::data {

absl::StatusOr<int64_t> InMemoryStore::Size() const { return static_cast<int64_t>(entries_.size()); }

absl::Status InMemoryStore::ForEach(const std::function<void(const MemoryEntry&)>& visit) const {
  for (const auto& [place, entry] : entries_) visit(entry);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<MemoryEntry>> InMemoryStore::Find(absl::string_view id) const {
  const auto place = places_.find(std::string(id));
  if (place == places_.end()) return std::nullopt;
  return entries_.at(place->second);
}

absl::Status InMemoryStore::Insert(const MemoryEntry& entry) {
  places_[entry.id] = next_place_;
  entries_[next_place_++] = entry;
  if (static_cast<int64_t>(entries_.size()) <= capacity_) return absl::OkStatus();
  return Remove(std::string(entries_.begin()->second.id));
}

absl::Status InMemoryStore::Replace(const MemoryEntry& entry) {
  entries_.at(places_.at(entry.id)) = entry;
  return absl::OkStatus();
}

absl::Status InMemoryStore::Remove(absl::string_view id) {
  const auto place = places_.find(std::string(id));
  entries_.erase(place->second);
  places_.erase(place);
  return absl::OkStatus();
}

// None of the functions above fails, so nothing is ever undone: the rules check before they change.
absl::Status InMemoryStore::InTransaction(const std::function<absl::Status()>& change) { return change(); }

}  // namespace reprise::data
