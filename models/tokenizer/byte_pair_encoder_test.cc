#include "models/tokenizer/byte_pair_encoder.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::ElementsAre;

// Returns an encoder in which the tokens 'a', 'b' and 'c' are 0, 1 and 2.
BytePairEncoder Encoder(const std::vector<Merge>& merges) {
  CharacterTokens characters;
  characters.any = {{'a', 0}, {'b', 1}, {'c', 2}};
  return BytePairEncoder(std::move(characters), merges);
}

std::vector<int32_t> Encoded(const BytePairEncoder& encoder, const std::string& word) {
  std::vector<int32_t> ids;
  EXPECT_OK(encoder.Encode(word, ids));
  return ids;
}

TEST(BytePairEncoderTest, MergesByRankThenFromTheLeft) {
  const BytePairEncoder encoder = Encoder({{1, 2, 10}, {0, 0, 11}, {0, 1, 12}, {11, 0, 13}});
  EXPECT_THAT(Encoded(encoder, "abc"), ElementsAre(0, 10));  // bc before ab
  EXPECT_THAT(Encoded(encoder, "ab"), ElementsAre(12));
  EXPECT_THAT(Encoded(encoder, "aaa"), ElementsAre(13));        // aa from the left, then (aa)a
  EXPECT_THAT(Encoded(encoder, "aaaaa"), ElementsAre(11, 13));  // pairs first: aa aa a
  EXPECT_THAT(Encoded(encoder, "c"), ElementsAre(2));
  EXPECT_THAT(Encoded(encoder, ""), ElementsAre());
}

TEST(BytePairEncoderTest, AWholeWordComesBeforeAnyMerge) {
  BytePairEncoder encoder = Encoder({{0, 1, 12}});
  encoder.SetWholeWords({{"abc", 20}});
  EXPECT_THAT(Encoded(encoder, "abc"), ElementsAre(20));
  EXPECT_THAT(Encoded(encoder, "abca"), ElementsAre(12, 2, 0));
}

TEST(BytePairEncoderTest, ACharacterWithoutATokenIsNamed) {
  std::vector<int32_t> ids;
  EXPECT_THAT(Encoder({}).Encode("a\u00c3", ids),
              StatusIs(absl::StatusCode::kInvalidArgument, "the tokenizer has no token for \"\u00c3\""));
  CharacterTokens byte_tokens;
  byte_tokens.any = {{'a', 0}};
  byte_tokens.are_bytes = true;
  const BytePairEncoder bytes(std::move(byte_tokens), {});
  EXPECT_THAT(bytes.Encode("a\u00c3", ids),
              StatusIs(absl::StatusCode::kInvalidArgument, "the tokenizer has no token for the byte 0xc3"));
}

TEST(BytePairEncoderTest, ThePlaceOfACharacterInItsWordChoosesItsToken) {
  CharacterTokens characters;
  characters.place_matters = true;
  characters.first = {{'a', 0}};
  characters.inner = {{'a', 1}};
  characters.last = {{'a', 2}};
  characters.alone = {{'a', 3}};
  const BytePairEncoder encoder(std::move(characters), {{1, 2, 9}});
  EXPECT_THAT(Encoded(encoder, "a"), ElementsAre(3));
  EXPECT_THAT(Encoded(encoder, "aa"), ElementsAre(0, 2));
  EXPECT_THAT(Encoded(encoder, "aaa"), ElementsAre(0, 9));
}

TEST(BytePairEncoderTest, ACharacterFallsBackToItsBytesIfEachHasAToken) {
  BytePairEncoder encoder = Encoder({});
  std::array<int32_t, 256> bytes;
  bytes.fill(-1);
  bytes[0xc3] = 20;
  bytes[0xa9] = 21;
  encoder.SetByteFallback(bytes);
  encoder.SetUnknown({.id = 30, .fuse = true});
  EXPECT_THAT(Encoded(encoder, "a\u00e9b"), ElementsAre(0, 20, 21, 1));
  EXPECT_THAT(Encoded(encoder, "a\u00e8zb"), ElementsAre(0, 30, 1));
  EXPECT_THAT(Encoded(encoder, "z\u00e9b"), ElementsAre(20, 21, 30, 1));  // as Hugging Face's tokenizers do
}

// A direct implementation of the definition: O(n^2 m).
std::vector<int32_t> Naive(const std::vector<Merge>& merges, const std::string& word) {
  std::vector<int32_t> ids;
  for (const char c : word) ids.push_back(c - 'a');
  while (true) {
    size_t best_rank = merges.size(), best_place = 0;
    for (size_t place = 0; place + 1 < ids.size(); ++place) {
      for (size_t rank = 0; rank < best_rank; ++rank) {
        if (merges[rank].left == ids[place] && merges[rank].right == ids[place + 1]) {
          best_rank = rank;
          best_place = place;
        }
      }
    }
    if (best_rank == merges.size()) return ids;
    ids[best_place] = merges[best_rank].merged;
    ids.erase(ids.begin() + static_cast<int64_t>(best_place) + 1);
  }
}

RC_GTEST_PROP(BytePairEncoderTest, EqualsItsDefinition, ()) {
  std::vector<Merge> merges;
  std::set<std::pair<int32_t, int32_t>> pairs;
  int32_t next = 3;
  const int count = *rc::gen::inRange(0, 30);
  for (int i = 0; i < count; ++i) {
    const int32_t left = *rc::gen::inRange(0, next), right = *rc::gen::inRange(0, next);
    if (pairs.emplace(left, right).second) merges.push_back({left, right, next++});
  }
  const auto word = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("aaabbc")));
  RC_ASSERT(Encoded(Encoder(merges), word) == Naive(merges, word));
}

}  // namespace
}  // namespace reprise::models
