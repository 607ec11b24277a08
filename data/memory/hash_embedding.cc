#include "data/memory/hash_embedding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "data/memory/words.h"
#include "openssl/evp.h"

namespace reprise::data {
namespace {

using Md5Digest = std::array<uint8_t, 16>;

Md5Digest Md5(absl::string_view text) {
  // Nothing here is secret: a library that allows only approved algorithms is asked for this one nevertheless. It lives
  // as long as the program.
  static EVP_MD* const md5 = EVP_MD_fetch(nullptr, "MD5", "-fips");
  CHECK(md5 != nullptr);
  Md5Digest digest;
  unsigned size = 0;
  CHECK_EQ(EVP_Digest(text.data(), text.size(), digest.data(), &size, md5, nullptr), 1);
  CHECK_EQ(size, digest.size());
  return digest;
}

struct Place {
  int64_t index;
  int64_t sign;
};

// Divides the digest, a number of 16 digits to the base 256, as one does on paper: the last digit of the quotient has
// the quotient's parity.
Place PlaceOf(absl::string_view token, int64_t dimension) {
  int64_t remainder = 0, last_digit = 0;
  for (const uint8_t byte : Md5(token)) {
    const int64_t part = remainder * 256 + byte;
    last_digit = part / dimension;
    remainder = part % dimension;
  }
  return {remainder, last_digit % 2 == 0 ? 1 : -1};
}

}  // namespace

HashEmbedding HashEmbedding::Of(absl::string_view text, int64_t dimension) {
  CHECK_GE(dimension, 1);
  CHECK_LE(dimension, int64_t{1} << 20);
  const std::string lower = LowerCase(text);
  std::map<int64_t, int64_t> counts;
  absl::string_view previous;
  for (const absl::string_view word : WordsOf(lower)) {
    const Place single = PlaceOf(word, dimension);
    counts[single.index] += single.sign;
    if (!previous.empty()) {
      const Place pair = PlaceOf(absl::StrCat(previous, " ", word), dimension);
      counts[pair.index] += pair.sign;
    }
    previous = word;
  }
  HashEmbedding embedding;
  embedding.dimension_ = dimension;
  for (const auto& [index, count] : counts) {
    if (count == 0) continue;
    embedding.counts_.emplace_back(index, count);
    embedding.squared_length_ += count * count;
  }
  return embedding;
}

std::vector<double> HashEmbedding::Normalized() const {
  std::vector<double> values(static_cast<size_t>(dimension_), 0.0);
  const double length = std::sqrt(static_cast<double>(squared_length_));
  for (const auto& [index, count] : counts_) values[index] = static_cast<double>(count) / length;
  return values;
}

double Cosine(const HashEmbedding& a, const HashEmbedding& b) {
  CHECK_EQ(a.dimension_, b.dimension_);
  if (a.counts_.empty() || b.counts_.empty()) return 0;
  int64_t product = 0;
  for (auto x = a.counts_.begin(), y = b.counts_.begin(); x != a.counts_.end() && y != b.counts_.end();) {
    if (x->first < y->first) {
      ++x;
    } else if (y->first < x->first) {
      ++y;
    } else {
      product += x++->second * y++->second;
    }
  }
  // The square root of x * x is x exactly, also where the product is rounded: equal embeddings give 1.
  const double lengths = std::sqrt(static_cast<double>(a.squared_length_) * static_cast<double>(b.squared_length_));
  return std::clamp(static_cast<double>(product) / lengths, -1.0, 1.0);
}

}  // namespace reprise::data
