#include "models/tokenizer/byte_pair_encoder.h"

#include <functional>
#include <queue>
#include <tuple>

#include "absl/strings/str_format.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise::models {
namespace {

uint64_t Key(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

// A part of the word, in a list linked by index; `token` is -1 once it has been merged into the previous part.
struct Part {
  int32_t token, previous, next;
};

// A merge that was possible when it was recorded: of the part at `place`, then `left`, with the next part, then
// `right`.
struct Candidate {
  int32_t rank, place, left, right, merged;

  bool operator>(const Candidate& other) const { return std::tie(rank, place) > std::tie(other.rank, other.place); }
};

}  // namespace

BytePairEncoder::BytePairEncoder(const std::array<int32_t, 256>& byte_tokens, const std::vector<Merge>& merges)
    : byte_tokens_(byte_tokens) {
  merges_.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    const bool is_new =
        merges_.try_emplace(Key(merge.left, merge.right), Ranked{static_cast<int32_t>(rank), merge.merged}).second;
    CHECK(is_new);
  }
}

const BytePairEncoder::Ranked* BytePairEncoder::FindMerge(int32_t left, int32_t right) const {
  const auto found = merges_.find(Key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

absl::Status BytePairEncoder::Encode(absl::string_view word, std::vector<int32_t>& ids) const {
  if (const auto whole = whole_words_.find(word); whole != whole_words_.end()) {
    ids.push_back(whole->second);
    return absl::OkStatus();
  }
  std::vector<Part> parts;
  parts.reserve(word.size());
  bool is_after_unknown = false;
  for (const char c : word) {
    const uint8_t byte = static_cast<uint8_t>(c);
    const bool is_unknown = byte_tokens_[byte] < 0;
    if (is_unknown && !unknown_) {
      return absl::InvalidArgumentError(absl::StrFormat("the tokenizer has no token for the byte 0x%02x", byte));
    }
    const bool is_fused = is_unknown && is_after_unknown && unknown_->fuse;
    is_after_unknown = is_unknown;
    if (is_fused) continue;
    const int32_t index = static_cast<int32_t>(parts.size());
    parts.push_back({is_unknown ? unknown_->id : byte_tokens_[byte], index - 1, index + 1});
  }
  const int32_t end = static_cast<int32_t>(parts.size());

  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto note = [&](int32_t place) {
    if (place < 0 || parts[place].next == end) return;
    const int32_t left = parts[place].token, right = parts[parts[place].next].token;
    if (const Ranked* merge = FindMerge(left, right)) queue.push({merge->rank, place, left, right, merge->merged});
  };
  for (int32_t place = 0; place < end; ++place) note(place);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Part& part = parts[best.place];
    if (part.token != best.left || part.next == end || parts[part.next].token != best.right) continue;  // outdated
    Part& absorbed = parts[part.next];
    part.token = best.merged;
    part.next = absorbed.next;
    if (part.next != end) parts[part.next].previous = best.place;
    absorbed.token = -1;
    note(best.place);
    note(part.previous);
  }
  for (const Part& part : parts) {
    if (part.token >= 0) ids.push_back(part.token);
  }
  return absl::OkStatus();
}

}  // namespace reprise::models
