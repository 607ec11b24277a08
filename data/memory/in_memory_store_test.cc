#include "data/memory/in_memory_store.h"

#include <string>
#include <vector>

#include "core/digest/sha256.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::data {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

std::vector<std::string> ContentsOf(const LongTermStore& store) {
  std::vector<std::string> contents;
  EXPECT_OK(store.ForEach([&](const MemoryEntry& entry) { contents.push_back(entry.content); }));
  return contents;
}

// The id of a text that no store has.
const char* const kUnknown = "0123456789abcdef";

TEST(LongTermStoreTest, AnIdIsTheFirst16DigitsOfTheContentsSha256) {
  InMemoryStore store;
  ASSERT_OK_AND_ASSIGN(const std::string id, store.Add({.content = "abc"}, 7));
  EXPECT_EQ(id, "ba7816bf8f01cfea");
  EXPECT_EQ(id, MemoryId("abc"));
  ASSERT_OK_AND_ASSIGN(const MemoryEntry entry, store.Get(id));
  EXPECT_EQ(entry, (MemoryEntry{id, "abc", "agent", "note", 7, {}}));
}

TEST(LongTermStoreTest, KeepsEverythingThatAMemoryHas) {
  InMemoryStore store;
  const NewMemory memory = {.content = "Bob: \xc3\xa4\n",
                            .source = "Alice",
                            .type = "episode",
                            .metadata = {{"topic", "names"}, {"why", ""}}};
  ASSERT_OK_AND_ASSIGN(const std::string id, store.Add(memory, -3));
  ASSERT_OK_AND_ASSIGN(const MemoryEntry entry, store.Get(id));
  EXPECT_EQ(entry, (MemoryEntry{id, memory.content, "Alice", "episode", -3, memory.metadata}));
}

TEST(LongTermStoreTest, AnUpdateReplacesTheContentMergesMetadataAndRefreshesTheTimestamp) {
  InMemoryStore store;
  ASSERT_OK_AND_ASSIGN(
      const std::string id,
      store.Add({.content = "old", .source = "s", .type = "t", .metadata = {{"a", "1"}, {"b", "2"}}}, 1));
  ASSERT_OK(store.Add({.content = "other"}, 2));
  ASSERT_OK(store.Update(id, "new", {{"b", "3"}, {"c", "4"}}, 5));
  ASSERT_OK_AND_ASSIGN(const MemoryEntry entry, store.Get(id));
  EXPECT_EQ(entry, (MemoryEntry{id, "new", "s", "t", 5, {{"a", "1"}, {"b", "3"}, {"c", "4"}}}));
  EXPECT_THAT(ContentsOf(store), ElementsAre("new", "other")) << "an entry keeps its place";
}

TEST(LongTermStoreTest, TheSameContentIsStoredOnceAndItsMetadataAreMerged) {
  InMemoryStore store;
  ASSERT_OK_AND_ASSIGN(const std::string id, store.Add({.content = "x", .source = "s", .metadata = {{"a", "1"}}}, 1));
  ASSERT_OK(store.Add({.content = "y"}, 2));
  ASSERT_OK_AND_ASSIGN(const std::string again,
                       store.Add({.content = "x", .source = "other", .metadata = {{"b", "2"}}}, 3));
  EXPECT_EQ(again, id);
  EXPECT_EQ(*store.Size(), 2);
  ASSERT_OK_AND_ASSIGN(const MemoryEntry entry, store.Get(id));
  EXPECT_EQ(entry, (MemoryEntry{id, "x", "s", "note", 3, {{"a", "1"}, {"b", "2"}}}));
}

TEST(InMemoryStoreTest, ABoundedStoreLosesItsOldestEntry) {
  InMemoryStore store(2);
  ASSERT_OK_AND_ASSIGN(const std::string first, store.Add({.content = "x"}, 1));
  ASSERT_OK(store.Add({.content = "y"}, 2));
  ASSERT_OK(store.Update(first, "x2", {}, 3));
  ASSERT_OK(store.Add({.content = "y"}, 4));
  EXPECT_THAT(ContentsOf(store), ElementsAre("x2", "y")) << "nothing new was added";
  ASSERT_OK(store.Add({.content = "z"}, 5));
  EXPECT_THAT(ContentsOf(store), ElementsAre("y", "z"));
  EXPECT_THAT(store.Get(first), StatusIs(kNotFound, HasSubstr(first)));
}

TEST(LongTermStoreTest, AnUpdatedEntryIsNotOverwrittenByItsFirstContent) {
  InMemoryStore store;
  ASSERT_OK_AND_ASSIGN(const std::string first, store.Add({.content = "x"}, 1));
  ASSERT_OK(store.Update(first, "x [updated]", {}, 2));
  ASSERT_OK_AND_ASSIGN(const std::string second, store.Add({.content = "x"}, 3));
  EXPECT_EQ(second, ToHex(Sha256(first + "x")).substr(0, 16));
  EXPECT_THAT(ContentsOf(store), ElementsAre("x [updated]", "x"));
  ASSERT_OK_AND_ASSIGN(const std::string again, store.Add({.content = "x"}, 4));
  EXPECT_EQ(again, second);
  EXPECT_EQ(*store.Size(), 2);
}

TEST(LongTermStoreTest, ADeletedMemoryIsGoneAndMayBeAddedAgain) {
  InMemoryStore store;
  ASSERT_OK_AND_ASSIGN(const std::string id, store.Add({.content = "x", .metadata = {{"a", "1"}}}, 1));
  ASSERT_OK(store.Add({.content = "y"}, 2));
  ASSERT_OK(store.Delete(id));
  EXPECT_THAT(store.Get(id), StatusIs(kNotFound, HasSubstr(id)));
  EXPECT_THAT(ContentsOf(store), ElementsAre("y"));
  ASSERT_OK_AND_ASSIGN(const std::string again, store.Add({.content = "x"}, 3));
  EXPECT_EQ(again, id);
  EXPECT_THAT(ContentsOf(store), ElementsAre("y", "x"));
  EXPECT_EQ(store.Get(id)->metadata, MemoryMetadata());
}

TEST(LongTermStoreTest, AnUnknownIdIsNotFoundByEveryOperation) {
  InMemoryStore store;
  ASSERT_OK(store.Add({.content = "x"}, 1));
  for (const absl::string_view id : {absl::string_view(kUnknown), absl::string_view(""), absl::string_view("x\n")}) {
    EXPECT_THAT(store.Get(id), StatusIs(kNotFound, HasSubstr("no memory has the id")));
    EXPECT_THAT(store.Update(id, "y", {}, 2), StatusIs(kNotFound, HasSubstr("no memory has the id")));
    EXPECT_THAT(store.Delete(id), StatusIs(kNotFound, HasSubstr("no memory has the id")));
  }
  EXPECT_THAT(store.Delete("\x1b[2J"), StatusIs(kNotFound, HasSubstr("\"\\x1b[2J\"")));
  EXPECT_THAT(ContentsOf(store), ElementsAre("x"));
}

TEST(LongTermStoreTest, TextsThatAreNoMemoriesAreRefusedAndChangeNothing) {
  InMemoryStore store;
  ASSERT_OK_AND_ASSIGN(const std::string id, store.Add({.content = "x"}, 1));
  const std::string longest(kMostMemoryBytes, 'a');
  for (const std::string& bad : {std::string(), std::string(" \n\xe3\x80\x80"), std::string("ab\xff"), longest + "a"}) {
    EXPECT_THAT(store.Add({.content = bad}, 2), StatusIs(kInvalid, HasSubstr("the memory's content")));
    EXPECT_THAT(store.Update(id, bad, {}, 2), StatusIs(kInvalid, HasSubstr("the memory's content")));
  }
  EXPECT_THAT(store.Add({.content = ""}, 2), StatusIs(kInvalid, "the memory's content is empty; expected a text"));
  EXPECT_THAT(store.Add({.content = "ab\xff"}, 2), StatusIs(kInvalid, HasSubstr("not UTF-8 at byte 2: \"ab\\xff\"")));
  EXPECT_THAT(store.Add({.content = "y", .source = "\xff"}, 2), StatusIs(kInvalid, HasSubstr("source")));
  EXPECT_THAT(store.Add({.content = "y", .type = "\xff"}, 2), StatusIs(kInvalid, HasSubstr("type")));
  EXPECT_THAT(store.Update(id, "y", {{"k", "\xff"}}, 2), StatusIs(kInvalid, HasSubstr("metadata \"k\"")));
  EXPECT_THAT(store.Update(id, "y", {{"\xff", ""}}, 2), StatusIs(kInvalid, HasSubstr("key")));
  EXPECT_THAT(store.Update(id, "y", {{"", "v"}}, 2), StatusIs(kInvalid, HasSubstr("key without a name")));
  ASSERT_OK_AND_ASSIGN(const MemoryEntry entry, store.Get(id));
  EXPECT_EQ(entry, (MemoryEntry{id, "x", "agent", "note", 1, {}}));
  EXPECT_OK(store.Add({.content = longest}, 2));
}

TEST(LongTermStoreTest, MergedMetadataHaveALimitToo) {
  InMemoryStore store;
  const std::string half(kMostMemoryBytes / 2, 'a');
  ASSERT_OK_AND_ASSIGN(const std::string id, store.Add({.content = "x", .metadata = {{"a", half}}}, 1));
  EXPECT_THAT(store.Update(id, "y", {{"b", half}}, 2),
              StatusIs(kInvalid, AllOf(HasSubstr("metadata"), HasSubstr("limit"))));
  EXPECT_EQ(store.Get(id)->content, "x");
  EXPECT_OK(store.Update(id, "y", {{"a", half}}, 2));
}

}  // namespace
}  // namespace reprise::data
