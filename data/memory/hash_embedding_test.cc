#include "data/memory/hash_embedding.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "data/memory/words.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::data {
namespace {

using Counts = std::vector<std::pair<int64_t, int64_t>>;

TEST(LowerCaseTest, MapsLettersOfAllAlphabetsAndKeepsTheRest) {
  EXPECT_EQ(LowerCase("ABC xyz 09 @[`{"), "abc xyz 09 @[`{");
  EXPECT_EQ(LowerCase("\xc3\x84\xc3\x96 \xce\xa3 \xd0\x96 \xe1\xba\x9e"),
            "\xc3\xa4\xc3\xb6 \xcf\x83 \xd0\xb6 \xc3\x9f");
  EXPECT_EQ(LowerCase("\xf0\x90\x90\x80\xe4\xb8\xad"), "\xf0\x90\x90\xa8\xe4\xb8\xad") << "outside the basic plane";
  EXPECT_EQ(LowerCase("A\xff\xc3"), "a\xff\xc3") << "bytes that are not UTF-8";
  EXPECT_EQ(LowerCase(absl::string_view("A\0B", 3)), std::string("a\0b", 3));
}

TEST(WordsOfTest, AreBetweenWhiteSpaceOfAllKinds) {
  using Words = std::vector<absl::string_view>;
  EXPECT_EQ(WordsOf(""), Words());
  EXPECT_EQ(WordsOf(" \t\n\v\f\r\x1c\x1d\x1e\x1f"), Words());
  EXPECT_EQ(WordsOf("one"), Words({"one"}));
  EXPECT_EQ(WordsOf("  who's  there?\n"), Words({"who's", "there?"}));
  EXPECT_EQ(WordsOf("a\xc2\xa0"
                    "b\xe2\x80\x83"
                    "c\xe3\x80\x80"
                    "d\xc2\x85"
                    "e"),
            Words({"a", "b", "c", "d", "e"}));
  EXPECT_EQ(WordsOf("a\xe2\x80\x8b"
                    "b"),
            Words({"a\xe2\x80\x8b"
                   "b"}))
      << "a space of no width is none";
}

// Computed by Python's hashlib from the definition: int(md5(token).hexdigest(), 16), % and // of integers.
TEST(HashEmbeddingTest, GivesTheCountsOfTheDefinition) {
  EXPECT_EQ(HashEmbedding::Of("apple").counts(), (Counts{{383, -1}}));
  EXPECT_EQ(HashEmbedding::Of("The quick brown fox jumps over the lazy dog the quick").counts(), (Counts{{5, 1},
                                                                                                         {207, 1},
                                                                                                         {364, 1},
                                                                                                         {372, -1},
                                                                                                         {507, -1},
                                                                                                         {510, 1},
                                                                                                         {516, 1},
                                                                                                         {588, -1},
                                                                                                         {633, 1},
                                                                                                         {634, 1},
                                                                                                         {667, 1},
                                                                                                         {768, -2},
                                                                                                         {811, 1},
                                                                                                         {826, -2},
                                                                                                         {837, 1},
                                                                                                         {855, 3},
                                                                                                         {965, -1}}));
  const std::string text = "Apple reported revenue of 90 billion";
  EXPECT_EQ(HashEmbedding::Of(text).counts(), (Counts{{96, -1},
                                                      {162, 1},
                                                      {257, -1},
                                                      {335, 1},
                                                      {383, -1},
                                                      {637, 1},
                                                      {740, 1},
                                                      {750, -1},
                                                      {810, 1},
                                                      {943, 1},
                                                      {955, 1}}));
  EXPECT_EQ(HashEmbedding::Of("\xc3\x84PFEL Gr\xc3\xb6\xc3\x9f"
                              "e")
                .counts(),
            (Counts{{76, 1}, {203, -1}, {1003, 1}}));
}

TEST(HashEmbeddingTest, DividesAllBitsOfTheHashByAnyDimension) {
  EXPECT_EQ(HashEmbedding::Of("Apple reported revenue of 90 billion", 1000).counts(), (Counts{{24, -1},
                                                                                              {35, -1},
                                                                                              {87, -1},
                                                                                              {149, -1},
                                                                                              {231, -1},
                                                                                              {326, -1},
                                                                                              {380, -1},
                                                                                              {663, -1},
                                                                                              {761, -1},
                                                                                              {770, 1},
                                                                                              {954, 1}}));
  EXPECT_EQ(HashEmbedding::Of("Apple reported revenue", 999983).counts(),
            (Counts{{99957, 1}, {178447, -1}, {284114, 1}, {594148, -1}, {645352, -1}}));
  EXPECT_EQ(HashEmbedding::Of("a a a", 7).counts(), (Counts{{0, -3}, {3, -2}}));
  EXPECT_EQ(HashEmbedding::Of("apple", 1).counts(), (Counts{{0, -1}}));
  EXPECT_EQ(HashEmbedding::Of("Apple reported", 1 << 20).counts(), (Counts{{491246, 1}, {562559, 1}, {779195, 1}}));
}

// The SHA-256 of 200 embeddings in four dimensions, written by the same Python.
TEST(HashEmbeddingTest, AgreesWithThePythonOfTheDefinitionOnManyTexts) {
  const std::vector<std::string> words = {"add",    "update", "delete", "retrieve", "summary", "filter",
                                          "market", "bond",   "yield",  "Fed",      "ECB",     "rate"};
  Sha256Stream stream;
  uint64_t x = 1;
  for (const int64_t dimension : {1024, 1000, 97, 3}) {
    for (int k = 0; k < 50; ++k) {
      std::string text;
      for (int j = 0; j <= k % 9; ++j) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        absl::StrAppend(&text, j == 0 ? "" : " ", words[(x >> 33) % words.size()]);
      }
      std::string line = absl::StrCat(dimension, ":");
      const char* separator = "";
      const HashEmbedding embedding = HashEmbedding::Of(text, dimension);
      for (const auto& [index, count] : embedding.counts()) {
        absl::StrAppend(&line, separator, index, "=", count);
        separator = ",";
      }
      stream.Update(absl::StrCat(line, "\n"));
    }
  }
  EXPECT_EQ(ToHex(stream.Current()), "797ab6dc81b8e0919d90c51785a0d6bdbc54c2e106c8fda5c6604fba8a888a87");
}

TEST(HashEmbeddingTest, IsDividedByItsLength) {
  const std::vector<double> values = HashEmbedding::Of("a a a", 7).Normalized();
  EXPECT_EQ(values, (std::vector<double>{-0x1.aa027f059dce1p-1, 0, 0, -0x1.1c01aa03be896p-1, 0, 0, 0}));
  const HashEmbedding apple = HashEmbedding::Of("apple");
  EXPECT_EQ(apple.dimension(), 1024);
  EXPECT_EQ(apple.Normalized().size(), 1024u);
  EXPECT_EQ(apple.Normalized()[383], -1.0);
}

TEST(HashEmbeddingTest, OfATextWithoutWordsIsZero) {
  const HashEmbedding zero = HashEmbedding::Of(" \n");
  EXPECT_EQ(zero.Normalized(), std::vector<double>(1024, 0.0));
  EXPECT_EQ(Cosine(zero, HashEmbedding::Of("apple")), 0.0);
  EXPECT_EQ(Cosine(zero, zero), 0.0);
}

TEST(CosineTest, GivesHandComputedValues) {
  // Of five tokens each, "apple", "revenue" and "apple revenue" are common.
  EXPECT_EQ(Cosine(HashEmbedding::Of("apple revenue grew"), HashEmbedding::Of("Apple  revenue fell")), 0.6);
  EXPECT_EQ(Cosine(HashEmbedding::Of("the cat sat"), HashEmbedding::Of("rates rise")), 0.0);
  EXPECT_EQ(Cosine(HashEmbedding::Of("a"), HashEmbedding::Of("A")), 1.0);
}

RC_GTEST_PROP(CosineTest, IsOneForEqualTextsSymmetricAndTheProductOfTheNormalized,
              (const std::vector<uint8_t>& a, const std::vector<uint8_t>& b)) {
  const auto text = [](const std::vector<uint8_t>& words) {
    std::string joined;
    for (const uint8_t word : words) absl::StrAppend(&joined, "w", word % 7, " ");
    return joined;
  };
  const HashEmbedding x = HashEmbedding::Of(text(a), 37), y = HashEmbedding::Of(text(b), 37);
  RC_ASSERT(Cosine(x, x) == (x.counts().empty() ? 0.0 : 1.0));
  RC_ASSERT(Cosine(x, y) == Cosine(y, x));
  const std::vector<double> u = x.Normalized(), v = y.Normalized();
  double product = 0;
  for (size_t i = 0; i < u.size(); ++i) product += u[i] * v[i];
  RC_ASSERT(std::abs(Cosine(x, y) - product) < 1e-14);
  RC_ASSERT(Cosine(x, y) <= 1.0);
  RC_ASSERT(Cosine(x, y) >= -1.0);
}

}  // namespace
}  // namespace reprise::data
