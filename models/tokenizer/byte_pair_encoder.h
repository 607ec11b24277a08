#ifndef MODELS_TOKENIZER_BYTE_PAIR_ENCODER_H_
#define MODELS_TOKENIZER_BYTE_PAIR_ENCODER_H_

// Byte-pair encoding of one word (Sennrich et al., "Neural machine translation of rare words with subword units", ACL
// 2016): starting from single characters, which may stand for bytes, repeatedly merges the adjacent pair whose merge
// has the lowest rank, the leftmost first, until no merge applies.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace reprise::models {

struct Merge {
  int32_t left = 0, right = 0, merged = 0;  // token ids
};

// The tokens of single characters, by code point and by the place of the character in its word: some tokenizers mark
// the last character of a word ("end_of_word_suffix"), or each but the first ("continuing_subword_prefix").
struct CharacterTokens {
  using Map = absl::flat_hash_map<int32_t, int32_t>;

  Map any;  // unless the place matters
  bool place_matters = false;
  Map first, inner, last, alone;  // if it does; `alone`: both first and last
  bool are_bytes = false;         // the characters stand for bytes; for messages
};

// What stands for characters without a token.
struct UnknownToken {
  int32_t id = 0;
  bool fuse = false;  // one for each run of such characters, not for each of them
};

class BytePairEncoder {
 public:
  // The rank of a merge is its index; no pair may occur twice.
  BytePairEncoder(CharacterTokens characters, const std::vector<Merge>& merges);

  // Sets the words that are encoded as one token, regardless of the merges ("ignore_merges").
  void SetWholeWords(absl::flat_hash_map<std::string, int32_t> words) { whole_words_ = std::move(words); }

  void SetUnknown(UnknownToken token) { unknown_ = token; }

  // Sets the tokens of the bytes of characters that have none ("byte_fallback"); -1: none. A character becomes the
  // tokens of its bytes if each of them has one.
  void SetByteFallback(const std::array<int32_t, 256>& tokens) { byte_fallback_ = tokens; }

  // Appends the tokens of `word`, valid UTF-8, to `ids`. O(n log n). InvalidArgument naming a character, or the byte
  // for which it stands, that has no token if none is set for such characters.
  absl::Status Encode(absl::string_view word, std::vector<int32_t>& ids) const;

 private:
  struct Ranked {
    int32_t rank, merged;
  };

  const Ranked* FindMerge(int32_t left, int32_t right) const;
  // Returns -1 for a character without a token.
  int32_t CharacterToken(int32_t code, bool is_first, bool is_last) const;
  bool HasByteFallback(absl::string_view character) const;
  // Appends the tokens of the single characters.
  absl::Status EncodeCharacters(absl::string_view word, std::vector<int32_t>& ids) const;

  CharacterTokens characters_;
  absl::flat_hash_map<uint64_t, Ranked> merges_;  // by left and right token
  absl::flat_hash_map<std::string, int32_t> whole_words_;
  std::optional<UnknownToken> unknown_;
  std::optional<std::array<int32_t, 256>> byte_fallback_;
};

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_BYTE_PAIR_ENCODER_H_
