#include "data/memory/retrieval.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/testing/status_matchers.h"
#include "data/memory/hash_embedding.h"
#include "data/memory/in_memory_store.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::data {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

void AddAll(const std::vector<std::string>& contents, LongTermStore* store) {
  int64_t now = 0;
  for (const std::string& content : contents) ASSERT_OK(store->Add({.content = content}, now++));
}

std::vector<std::pair<std::string, double>> Scored(const absl::StatusOr<std::vector<MemoryHit>>& hits) {
  EXPECT_OK(hits);
  std::vector<std::pair<std::string, double>> scored;
  for (const MemoryHit& hit : *hits) scored.emplace_back(hit.entry.content, hit.score);
  return scored;
}

TEST(SearchMemoryTest, ScoresByTheFractionOfTheQuerysWordsThatOccur) {
  InMemoryStore store;
  AddAll({"Apple beats estimates", "The FED raises rates", "apples and rates", "nothing"}, &store);
  EXPECT_THAT(
      Scored(SearchMemory(store, "APPLE rates")),
      ElementsAre(Pair("apples and rates", 1.0), Pair("Apple beats estimates", 0.5), Pair("The FED raises rates", 0.5)))
      << "within longer words too; equal scores in the order of addition; scores of 0 are left out";
  EXPECT_THAT(Scored(SearchMemory(store, "apple apple rates")),
              ElementsAre(Pair("apples and rates", 1.0), Pair("Apple beats estimates", 2.0 / 3),
                          Pair("The FED raises rates", 1.0 / 3)))
      << "a repeated word counts twice";
  EXPECT_THAT(Scored(SearchMemory(store, "APPLE rates", 2)),
              ElementsAre(Pair("apples and rates", 1.0), Pair("Apple beats estimates", 0.5)));
  EXPECT_THAT(Scored(SearchMemory(store, "gold")), IsEmpty());
}

TEST(SearchMemoryTest, ByCosinePrefersTheSameWordsInTheSameOrder) {
  InMemoryStore store;
  AddAll({"revenue apple", "Apple revenue fell", "apple revenue grew", "rates rise"}, &store);
  EXPECT_THAT(Scored(SearchMemory(store, "apple revenue grew", 5, Similarity::kCosine)),
              ElementsAre(Pair("apple revenue grew", 1.0), Pair("Apple revenue fell", 0.6),
                          Pair("revenue apple",
                               Cosine(HashEmbedding::Of("revenue apple"), HashEmbedding::Of("apple revenue grew")))));
}

TEST(SearchMemoryTest, RefusesAnEmptyQueryAndAnEmptyAnswer) {
  const InMemoryStore store;
  for (const Similarity similarity : {Similarity::kKeywords, Similarity::kCosine}) {
    EXPECT_THAT(SearchMemory(store, " ", 5, similarity), StatusIs(kInvalid, "the query is empty; expected a text"));
    EXPECT_THAT(SearchMemory(store, "\xff", 5, similarity), StatusIs(kInvalid, HasSubstr("UTF-8")));
    EXPECT_THAT(SearchMemory(store, "a", 0, similarity), StatusIs(kInvalid, HasSubstr("top_k is 0")));
    EXPECT_THAT(SearchMemory(store, "a", -1, similarity), StatusIs(kInvalid, HasSubstr("top_k is -1")));
    EXPECT_THAT(Scored(SearchMemory(store, "a", 5, similarity)), IsEmpty());
  }
}

RC_GTEST_PROP(SearchMemoryTest, IsAStableSortOfAllScores, (bool by_cosine)) {
  const auto text = rc::gen::map(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5)), [](auto words) {
    std::string joined = "w";
    for (const int word : words) joined += std::string(" ") + "abcde"[word] + "x";
    return joined;
  });
  InMemoryStore store;
  for (const std::string& content : *rc::gen::container<std::vector<std::string>>(text)) {
    RC_ASSERT(store.Add({.content = content}, 0).ok());
  }
  const std::string query = *text;
  std::vector<std::pair<std::string, double>> expected;
  RC_ASSERT(store
                .ForEach([&](const MemoryEntry& entry) {
                  double score = 0, words = 0;
                  for (size_t at = 0; at < query.size(); at += at == 0 ? 2 : 3, ++words) {
                    score += entry.content.find(query.substr(at, at == 0 ? 1 : 2)) != std::string::npos ? 1 : 0;
                  }
                  score =
                      by_cosine ? Cosine(HashEmbedding::Of(query), HashEmbedding::Of(entry.content)) : score / words;
                  if (score > 0) expected.emplace_back(entry.content, score);
                })
                .ok());
  std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  const int64_t top_k = *rc::gen::inRange<int64_t>(1, 8);
  if (expected.size() > static_cast<size_t>(top_k)) expected.resize(static_cast<size_t>(top_k));
  RC_ASSERT(Scored(SearchMemory(store, query, top_k, by_cosine ? Similarity::kCosine : Similarity::kKeywords)) ==
            expected);
}

std::vector<std::string> ContentsOf(const absl::StatusOr<std::vector<ContextItem>>& items) {
  EXPECT_OK(items);
  std::vector<std::string> contents;
  for (const ContextItem& item : *items) contents.push_back(item.content);
  return contents;
}

TEST(FilterTest, KeepsScoresFromTheThresholdOn) {
  const std::vector<ContextItem> items = {{"a", 0.4999}, {"b", 0.5}, {"c"}, {"d", 0.0}, {"e", -1.0}};
  EXPECT_THAT(ContentsOf(FilterByScore(items)), ElementsAre("b", "c")) << "a text without a score has 1";
  EXPECT_THAT(ContentsOf(FilterByScore(items, 0)), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(ContentsOf(FilterByScore(items, 1)), ElementsAre("c"));
  EXPECT_THAT(ContentsOf(FilterByScore({}, 1)), IsEmpty());
}

TEST(FilterTest, AQueryReplacesScoresByItsOverlap) {
  const std::vector<ContextItem> items = {{"Rates rise", 0.0, "id"}, {"gold"}, {"rates of GOLD rise"}};
  ASSERT_OK_AND_ASSIGN(const std::vector<ContextItem> kept, FilterByQuery(items, "gold rates rise"));
  EXPECT_THAT(kept, ElementsAre(ContextItem{"Rates rise", 2.0 / 3, "id"}, ContextItem{"rates of GOLD rise", 1.0}));
}

TEST(FilterTest, ThePapersVariantRemovesWhatIsSimilarToACriterion) {
  const std::vector<ContextItem> items = {{"apple revenue grew"}, {"Apple revenue fell"}, {"rates rise"}};
  EXPECT_THAT(ContentsOf(RemoveSimilar(items, "apple revenue grew")), ElementsAre("rates rise"))
      << "a similarity of exactly 0.6 is removed";
  EXPECT_THAT(ContentsOf(RemoveSimilar(items, "apple revenue grew", 0.61)),
              ElementsAre("Apple revenue fell", "rates rise"));
}

TEST(FilterTest, RefusesThresholdsThatAreNoFractionAndEmptyTexts) {
  const std::vector<ContextItem> items = {{"a"}};
  for (const double bad : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(FilterByScore(items, bad), StatusIs(kInvalid, HasSubstr("expected 0 to 1")));
    EXPECT_THAT(FilterByQuery(items, "a", bad), StatusIs(kInvalid, HasSubstr("expected 0 to 1")));
    EXPECT_THAT(RemoveSimilar(items, "a", bad), StatusIs(kInvalid, HasSubstr("expected 0 to 1")));
  }
  EXPECT_THAT(FilterByQuery(items, ""), StatusIs(kInvalid, HasSubstr("the query is empty")));
  EXPECT_THAT(RemoveSimilar(items, " "), StatusIs(kInvalid, HasSubstr("the criterion is empty")));
}

TEST(SummaryOfTest, JoinsTheFirstFiveContents) {
  EXPECT_EQ(*SummaryOf(std::vector<ContextItem>{{"a"}}), "a");
  EXPECT_EQ(*SummaryOf(std::vector<ContextItem>{{"a"}, {"b", 0.0}, {"c"}, {"d"}, {"e"}, {"f"}}), "a | b | c | d | e");
  EXPECT_THAT(SummaryOf({}), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nothing to summarize")));
}

}  // namespace
}  // namespace reprise::data
