#include "data/memory/short_term_buffer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise::data {

int64_t CharactersOf(absl::string_view text) {
  // All bytes but the first of a character have the form 10xxxxxx.
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

absl::StatusOr<ShortTermBuffer> ShortTermBuffer::Create(ShortTermOptions options) {
  if (options.capacity < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the capacity of a short-term buffer is ", options.capacity, "; expected 1 or more"));
  }
  if (options.context_window < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the context window of a short-term buffer is ", options.context_window, "; expected 1 or more"));
  }
  if (options.length == nullptr) {
    return absl::InvalidArgumentError("a short-term buffer has no function for the length of its texts");
  }
  return ShortTermBuffer(std::move(options));
}

absl::Status ShortTermBuffer::Push(const ContextItem& item) {
  RETURN_IF_ERROR(CheckMemoryText("a text of the short-term buffer", item.content));
  items_.push_back(item);
  if (static_cast<int64_t>(items_.size()) > options_.capacity) items_.pop_front();
  return absl::OkStatus();
}

int64_t ShortTermBuffer::Length() const {
  int64_t length = 0;
  for (const ContextItem& item : items_) length += options_.length(item.content);
  return length;
}

std::vector<ContextItem> ShortTermBuffer::Context() const {
  int64_t left = options_.context_window;
  auto begin = items_.end();
  while (begin != items_.begin()) {
    left -= options_.length(std::prev(begin)->content);
    if (left < 0) break;
    --begin;
  }
  return std::vector<ContextItem>(begin, items_.end());
}

absl::StatusOr<int64_t> ShortTermBuffer::Filter(double threshold) {
  return Keep(FilterByScore(std::vector<ContextItem>(items_.begin(), items_.end()), threshold));
}

absl::StatusOr<int64_t> ShortTermBuffer::Filter(absl::string_view query, double threshold) {
  return Keep(FilterByQuery(std::vector<ContextItem>(items_.begin(), items_.end()), query, threshold));
}

absl::StatusOr<int64_t> ShortTermBuffer::Keep(absl::StatusOr<std::vector<ContextItem>> kept) {
  RETURN_IF_ERROR(kept.status());
  const int64_t removed = static_cast<int64_t>(items_.size() - kept->size());
  items_.assign(kept->begin(), kept->end());
  return removed;
}

}  // namespace reprise::data
