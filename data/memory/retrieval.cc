#include "data/memory/retrieval.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/status_macros.h"
#include "data/memory/hash_embedding.h"
#include "data/memory/words.h"

namespace reprise::data {
namespace {

// The best entries so far, best first.
class Best {
 public:
  explicit Best(size_t most) : most_(most) {}

  void Offer(const MemoryEntry& entry, double score) {
    if (score <= 0 || (hits_.size() == most_ && score <= hits_.back().score)) return;
    const auto place = std::upper_bound(hits_.begin(), hits_.end(), score,
                                        [](double value, const MemoryHit& hit) { return value > hit.score; });
    hits_.insert(place, MemoryHit{entry, score});
    if (hits_.size() > most_) hits_.pop_back();
  }

  std::vector<MemoryHit> Take() { return std::move(hits_); }

 private:
  const size_t most_;
  std::vector<MemoryHit> hits_;
};

absl::Status CheckThreshold(double threshold) {
  if (threshold >= 0 && threshold <= 1) return absl::OkStatus();  // false for NaN
  return absl::InvalidArgumentError(absl::StrCat("the threshold of a filter is ", threshold, "; expected 0 to 1"));
}

}  // namespace

ContextItem ItemOf(const MemoryHit& hit) { return {hit.entry.content, hit.score, hit.entry.id}; }

double KeywordScore(absl::Span<const absl::string_view> words, absl::string_view content) {
  if (words.empty()) return 0;
  const std::string lower = LowerCase(content);
  const int64_t found =
      std::count_if(words.begin(), words.end(), [&](absl::string_view word) { return absl::StrContains(lower, word); });
  return static_cast<double>(found) / static_cast<double>(words.size());
}

absl::StatusOr<std::vector<MemoryHit>> SearchMemory(const LongTermStore& store, absl::string_view query, int64_t top_k,
                                                    Similarity similarity) {
  RETURN_IF_ERROR(CheckMemoryText("the query", query));
  if (top_k < 1) {
    return absl::InvalidArgumentError(absl::StrCat("top_k is ", top_k, "; expected 1 or more memories to retrieve"));
  }
  Best best(static_cast<size_t>(top_k));
  if (similarity == Similarity::kCosine) {
    const HashEmbedding wanted = HashEmbedding::Of(query);
    RETURN_IF_ERROR(store.ForEach(
        [&](const MemoryEntry& entry) { best.Offer(entry, Cosine(wanted, HashEmbedding::Of(entry.content))); }));
  } else {
    const std::string lower = LowerCase(query);
    const std::vector<absl::string_view> words = WordsOf(lower);
    RETURN_IF_ERROR(
        store.ForEach([&](const MemoryEntry& entry) { best.Offer(entry, KeywordScore(words, entry.content)); }));
  }
  return best.Take();
}

absl::StatusOr<std::vector<ContextItem>> FilterByScore(absl::Span<const ContextItem> items, double threshold) {
  RETURN_IF_ERROR(CheckThreshold(threshold));
  std::vector<ContextItem> kept;
  for (const ContextItem& item : items) {
    if (item.score >= threshold) kept.push_back(item);
  }
  return kept;
}

absl::StatusOr<std::vector<ContextItem>> FilterByQuery(absl::Span<const ContextItem> items, absl::string_view query,
                                                       double threshold) {
  RETURN_IF_ERROR(CheckMemoryText("the query", query));
  const std::string lower = LowerCase(query);
  const std::vector<absl::string_view> words = WordsOf(lower);
  std::vector<ContextItem> scored(items.begin(), items.end());
  for (ContextItem& item : scored) item.score = KeywordScore(words, item.content);
  return FilterByScore(scored, threshold);
}

absl::StatusOr<std::vector<ContextItem>> RemoveSimilar(absl::Span<const ContextItem> items, absl::string_view criterion,
                                                       double threshold) {
  RETURN_IF_ERROR(CheckMemoryText("the criterion", criterion));
  RETURN_IF_ERROR(CheckThreshold(threshold));
  const HashEmbedding unwanted = HashEmbedding::Of(criterion);
  std::vector<ContextItem> kept;
  for (const ContextItem& item : items) {
    if (Cosine(unwanted, HashEmbedding::Of(item.content)) < threshold) kept.push_back(item);
  }
  return kept;
}

absl::StatusOr<std::string> SummaryOf(absl::Span<const ContextItem> items) {
  if (items.empty()) {
    return absl::FailedPreconditionError("there is nothing to summarize: retrieve memories first, or pass texts");
  }
  return absl::StrJoin(items.subspan(0, kSummaryTexts), " | ",
                       [](std::string* out, const ContextItem& item) { absl::StrAppend(out, item.content); });
}

}  // namespace reprise::data
