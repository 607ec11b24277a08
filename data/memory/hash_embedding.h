#ifndef DATA_MEMORY_HASH_EMBEDDING_H_
#define DATA_MEMORY_HASH_EMBEDDING_H_

// Embeddings of texts without a model: hashed counts of words and of pairs of neighbouring words (Weinberger et al.,
// "Feature Hashing for Large Scale Multitask Learning", ICML 2009).
//
// The lower-case words of a text (data/memory/words.h), and each two neighbours joined by a space, are its tokens. With
// h the MD5 of a token as an integer, most significant byte first, the token adds +1 to element h mod dimension if h
// div dimension is even, and -1 if it is odd. The embedding is the vector of these counts divided by its length; a
// vector of zeros stays zero. Counts and their products are summed as integers, so no result depends on an order.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace reprise::data {

inline constexpr int64_t kHashDimension = 1024;

class HashEmbedding {
 public:
  // 1 <= dimension <= 2^20 (checked). Pure; takes an MD5 for each token.
  static HashEmbedding Of(absl::string_view text, int64_t dimension = kHashDimension);

  int64_t dimension() const { return dimension_; }
  // The sums of signs that are not 0, with their indices in ascending order, before the division.
  const std::vector<std::pair<int64_t, int64_t>>& counts() const { return counts_; }
  // The embedding: `dimension` numbers, of length 1 or all zero.
  std::vector<double> Normalized() const;

  // Returns the cosine of the angle between two embeddings of one dimension (checked), in [-1, 1]: 1 for equal ones, 0
  // if either is zero. Pure.
  friend double Cosine(const HashEmbedding& a, const HashEmbedding& b);

 private:
  int64_t dimension_ = 0;
  int64_t squared_length_ = 0;
  std::vector<std::pair<int64_t, int64_t>> counts_;
};

}  // namespace reprise::data

#endif  // DATA_MEMORY_HASH_EMBEDDING_H_
