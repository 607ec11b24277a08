#ifndef MODELS_TOKENIZER_BYTE_PAIR_ENCODER_H_
#define MODELS_TOKENIZER_BYTE_PAIR_ENCODER_H_

// Byte-pair encoding of one word (Sennrich et al., "Neural machine translation of rare words with subword units", ACL
// 2016): starting from single bytes, repeatedly merges the adjacent pair whose merge has the lowest rank, the leftmost
// first, until no merge applies.

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

// What stands for bytes without a token.
struct UnknownToken {
  int32_t id = 0;
  bool fuse = false;  // one for each run of such bytes, not for each byte
};

class BytePairEncoder {
 public:
  // byte_tokens[b] is the token of the single byte b, or -1 if there is none. The rank of a merge is its index; no pair
  // may occur twice.
  BytePairEncoder(const std::array<int32_t, 256>& byte_tokens, const std::vector<Merge>& merges);

  // Sets the words that are encoded as one token, regardless of the merges ("ignore_merges").
  void SetWholeWords(absl::flat_hash_map<std::string, int32_t> words) { whole_words_ = std::move(words); }

  void SetUnknown(UnknownToken token) { unknown_ = token; }

  // Appends the tokens of `word` to `ids`. O(n log n). InvalidArgument naming a byte that has no token if none is set
  // for such bytes.
  absl::Status Encode(absl::string_view word, std::vector<int32_t>& ids) const;

 private:
  struct Ranked {
    int32_t rank, merged;
  };

  const Ranked* FindMerge(int32_t left, int32_t right) const;

  std::array<int32_t, 256> byte_tokens_;
  absl::flat_hash_map<uint64_t, Ranked> merges_;  // by left and right token
  absl::flat_hash_map<std::string, int32_t> whole_words_;
  std::optional<UnknownToken> unknown_;
};

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_BYTE_PAIR_ENCODER_H_
