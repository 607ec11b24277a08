#ifndef DATA_MEMORY_SHORT_TERM_BUFFER_H_
#define DATA_MEMORY_SHORT_TERM_BUFFER_H_

// What an agent has in mind now: the last texts that it retrieved or was told, first in, first out.

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/memory/retrieval.h"

namespace reprise::data {

inline constexpr double kBufferThreshold = 0.3;

// Returns the number of Unicode characters of a text in UTF-8. Pure.
int64_t CharactersOf(absl::string_view text);

struct ShortTermOptions {
  int64_t capacity = 20;                                            // items
  int64_t context_window = 4096;                                    // in the units of `length`
  std::function<int64_t(absl::string_view)> length = CharactersOf;  // or the number of tokens of a tokenizer
};

// Not thread-safe.
class ShortTermBuffer {
 public:
  // InvalidArgument unless capacity and window are at least 1 and there is a length.
  static absl::StatusOr<ShortTermBuffer> Create(ShortTermOptions options = {});

  // Appends an item, whose content must be valid (CheckMemoryText: InvalidArgument). A full buffer loses its oldest.
  absl::Status Push(const ContextItem& item);

  int64_t capacity() const { return options_.capacity; }
  int64_t context_window() const { return options_.context_window; }
  const std::deque<ContextItem>& items() const { return items_; }  // oldest first

  // Returns the sum of the items' lengths. More than context_window() is an overflow: Context() leaves the oldest out.
  int64_t Length() const;

  // Returns the newest items that fit into the context window together, oldest first. Items are whole: one that does
  // not fit is left out with all that are older.
  std::vector<ContextItem> Context() const;

  // Removes the items that FilterByScore and FilterByQuery would not keep; returns how many. The second replaces the
  // scores of those that stay. Errors as those functions; then nothing is removed.
  absl::StatusOr<int64_t> Filter(double threshold = kBufferThreshold);
  absl::StatusOr<int64_t> Filter(absl::string_view query, double threshold = kBufferThreshold);

  void Clear() { items_.clear(); }

 private:
  explicit ShortTermBuffer(ShortTermOptions options) : options_(std::move(options)) {}
  absl::StatusOr<int64_t> Keep(absl::StatusOr<std::vector<ContextItem>> kept);

  ShortTermOptions options_;
  std::deque<ContextItem> items_;
};

}  // namespace reprise::data

#endif  // DATA_MEMORY_SHORT_TERM_BUFFER_H_
