#include "models/tokenizer/byte_pair_encoder.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "models/tokenizer/byte_alphabet.h"
#include "models/tokenizer/characters.h"

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

absl::Status NoToken(absl::string_view character, bool is_byte) {
  const std::optional<std::string> byte = is_byte ? TextToBytes(character) : std::nullopt;
  if (byte) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the tokenizer has no token for the byte 0x%02x", static_cast<uint8_t>((*byte)[0])));
  }
  return absl::InvalidArgumentError(absl::StrCat("the tokenizer has no token for \"", character, "\""));
}

}  // namespace

BytePairEncoder::BytePairEncoder(CharacterTokens characters, const std::vector<Merge>& merges)
    : characters_(std::move(characters)) {
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

int32_t BytePairEncoder::CharacterToken(int32_t code, bool is_first, bool is_last) const {
  const CharacterTokens::Map* map = &characters_.any;
  if (characters_.place_matters && is_first) map = is_last ? &characters_.alone : &characters_.first;
  if (characters_.place_matters && !is_first) map = is_last ? &characters_.last : &characters_.inner;
  const auto found = map->find(code);
  return found == map->end() ? -1 : found->second;
}

bool BytePairEncoder::HasByteFallback(absl::string_view character) const {
  return byte_fallback_ && std::all_of(character.begin(), character.end(),
                                       [this](char c) { return (*byte_fallback_)[static_cast<uint8_t>(c)] >= 0; });
}

absl::Status BytePairEncoder::EncodeCharacters(absl::string_view word, std::vector<int32_t>& ids) const {
  ids.reserve(word.size());
  bool is_unknown_due = false;  // it comes after the bytes of fallbacks that follow it, as in Hugging Face's tokenizers
  for (size_t at = 0; at < word.size();) {
    const Character character = FirstCharacter(word.substr(at));
    const absl::string_view bytes = word.substr(at, character.size);
    const int32_t token = CharacterToken(character.code, at == 0, at + character.size == word.size());
    at += character.size;
    if (token >= 0) {
      if (is_unknown_due) ids.push_back(unknown_->id);
      is_unknown_due = false;
      ids.push_back(token);
    } else if (HasByteFallback(bytes)) {
      for (const char c : bytes) ids.push_back((*byte_fallback_)[static_cast<uint8_t>(c)]);
    } else if (unknown_) {
      if (is_unknown_due && !unknown_->fuse) ids.push_back(unknown_->id);
      is_unknown_due = true;
    } else {
      return NoToken(bytes, characters_.are_bytes);
    }
  }
  if (is_unknown_due) ids.push_back(unknown_->id);
  return absl::OkStatus();
}

absl::Status BytePairEncoder::Encode(absl::string_view word, std::vector<int32_t>& ids) const {
  if (const auto whole = whole_words_.find(word); whole != whole_words_.end()) {
    ids.push_back(whole->second);
    return absl::OkStatus();
  }
  std::vector<int32_t> characters;
  RETURN_IF_ERROR(EncodeCharacters(word, characters));
  const int32_t end = static_cast<int32_t>(characters.size());
  std::vector<Part> parts;
  parts.reserve(characters.size());
  for (int32_t i = 0; i < end; ++i) parts.push_back({characters[i], i - 1, i + 1});

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
