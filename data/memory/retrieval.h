#ifndef DATA_MEMORY_RETRIEVAL_H_
#define DATA_MEMORY_RETRIEVAL_H_

// Finding memories by a query, and what an agent does with a list of texts: keep the relevant ones and summarize them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/memory/long_term_store.h"

namespace reprise::data {

inline constexpr int64_t kTopK = 5;
inline constexpr double kFilterThreshold = 0.5;
inline constexpr double kSimilarityThreshold = 0.6;  // of the paper's filter, RemoveSimilar
inline constexpr size_t kSummaryTexts = 5;

enum class Similarity : uint8_t {
  kKeywords,  // the fraction of the query's words that the content contains
  kCosine,    // of hash embeddings (data/memory/hash_embedding.h)
};

struct MemoryHit {
  MemoryEntry entry;
  double score = 0;

  friend bool operator==(const MemoryHit&, const MemoryHit&) = default;
};

// A text in an agent's context.
struct ContextItem {
  std::string content;
  double score = 1;     // relevance
  std::string id = {};  // of the memory that it was retrieved from; empty for any other text

  friend bool operator==(const ContextItem&, const ContextItem&) = default;
};

ContextItem ItemOf(const MemoryHit& hit);

// Returns the fraction of `words`, which are lower-case, that occur in `content` in lower case, also within a longer
// word; a word that occurs twice among them counts twice. 0 without words. Pure.
double KeywordScore(absl::Span<const absl::string_view> words, absl::string_view content);

// Returns the `top_k` entries with the highest scores above 0, best first, those of equal score in the order in which
// they were added. None is no error. InvalidArgument for an empty query (CheckMemoryText) and top_k < 1. Takes time
// linear in the stored text.
absl::StatusOr<std::vector<MemoryHit>> SearchMemory(const LongTermStore& store, absl::string_view query,
                                                    int64_t top_k = kTopK,
                                                    Similarity similarity = Similarity::kKeywords);

// Return the items with score >= threshold, in their order. InvalidArgument unless 0 <= threshold <= 1. Pure.
absl::StatusOr<std::vector<ContextItem>> FilterByScore(absl::Span<const ContextItem> items,
                                                       double threshold = kFilterThreshold);
// The same, after each score is replaced by the item's KeywordScore for the query, which must not be empty.
absl::StatusOr<std::vector<ContextItem>> FilterByQuery(absl::Span<const ContextItem> items, absl::string_view query,
                                                       double threshold = kFilterThreshold);

// Returns the items without those whose content is similar to a criterion: the cosine of their hash embeddings is at
// least the threshold. Scores stay. InvalidArgument for an empty criterion, and unless 0 <= threshold <= 1. Pure.
absl::StatusOr<std::vector<ContextItem>> RemoveSimilar(absl::Span<const ContextItem> items, absl::string_view criterion,
                                                       double threshold = kSimilarityThreshold);

// Returns a summary without a model: the contents of the first kSummaryTexts items joined by " | ". FailedPrecondition
// if there is no item. Pure.
absl::StatusOr<std::string> SummaryOf(absl::Span<const ContextItem> items);

}  // namespace reprise::data

#endif  // DATA_MEMORY_RETRIEVAL_H_
