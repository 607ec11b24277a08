#include "data/memory/agent_memory.h"

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/testing/status_matchers.h"
#include "data/memory/in_memory_store.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::data {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotFound = absl::StatusCode::kNotFound;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

TEST(MemoryOperationTest, EachNameIsReadAsTheOperationOfThatName) {
  const std::vector<std::string> names = {"add", "update", "delete", "retrieve", "summary", "filter"};
  ASSERT_EQ(kMemoryOperationCount, names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(const MemoryOperation operation, ParseMemoryOperation(names[i]));
    EXPECT_EQ(static_cast<size_t>(operation), i) << names[i];
    EXPECT_EQ(NameOf(operation), names[i]);
    EXPECT_EQ(IsLongTerm(operation), i < 3) << names[i];
  }
}

TEST(MemoryOperationTest, AnyOtherNameIsRefused) {
  EXPECT_THAT(ParseMemoryOperation("retreive"), StatusIs(kInvalid, AllOf(HasSubstr("unknown memory operation"),
                                                                         HasSubstr("did you mean \"retrieve\"?"))));
  for (const char* name : {"", "ADD", "Add", "add ", "noop"})
    EXPECT_THAT(ParseMemoryOperation(name), StatusIs(kInvalid, HasSubstr("add")));
}

std::vector<std::string> ContentsOf(const std::vector<ContextItem>& items) {
  std::vector<std::string> contents;
  for (const ContextItem& item : items) contents.push_back(item.content);
  return contents;
}

TEST(ShortTermBufferTest, LosesTheOldestItemsBeyondItsCapacity) {
  ASSERT_OK_AND_ASSIGN(ShortTermBuffer buffer, ShortTermBuffer::Create({.capacity = 2}));
  EXPECT_THAT(buffer.items(), IsEmpty());
  for (const char* content : {"a", "b", "c"}) ASSERT_OK(buffer.Push({content}));
  EXPECT_THAT(buffer.items(), ElementsAre(ContextItem{"b"}, ContextItem{"c"}));
  buffer.Clear();
  EXPECT_THAT(buffer.items(), IsEmpty());
}

TEST(ShortTermBufferTest, HasTheDocumentedSizes) {
  ASSERT_OK_AND_ASSIGN(const ShortTermBuffer buffer, ShortTermBuffer::Create());
  EXPECT_EQ(buffer.capacity(), 20);
  EXPECT_EQ(buffer.context_window(), 4096);
}

TEST(ShortTermBufferTest, TheContextIsTheNewestItemsThatFitTogether) {
  ASSERT_OK_AND_ASSIGN(ShortTermBuffer buffer, ShortTermBuffer::Create({.capacity = 9, .context_window = 5}));
  for (const char* content : {"a", "bb", "ccc"}) ASSERT_OK(buffer.Push({content}));
  EXPECT_EQ(buffer.Length(), 6);
  EXPECT_THAT(ContentsOf(buffer.Context()), ElementsAre("bb", "ccc"));
  ASSERT_OK(buffer.Push({"d"}));
  EXPECT_THAT(ContentsOf(buffer.Context()), ElementsAre("ccc", "d")) << "an older one that would fit is not taken";
  ASSERT_OK(buffer.Push({"eeeeee"}));
  EXPECT_THAT(buffer.Context(), IsEmpty());
  EXPECT_EQ(buffer.items().size(), 5u);
}

TEST(ShortTermBufferTest, CountsCharactersOrWhateverItIsGiven) {
  EXPECT_EQ(CharactersOf("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82"), 4);
  EXPECT_EQ(CharactersOf(""), 0);
  ASSERT_OK_AND_ASSIGN(ShortTermBuffer buffer,
                       ShortTermBuffer::Create({.length = [](absl::string_view) { return 7; }}));
  for (const char* content : {"a", "b"}) ASSERT_OK(buffer.Push({content}));
  EXPECT_EQ(buffer.Length(), 14);
}

TEST(ShortTermBufferTest, ItsFilterRemovesWhatScoresBelowTheThreshold) {
  ASSERT_OK_AND_ASSIGN(ShortTermBuffer buffer, ShortTermBuffer::Create());
  for (const double score : {0.29, 0.3, 1.0}) ASSERT_OK(buffer.Push({"rates", score}));
  EXPECT_EQ(*buffer.Filter(), 1);
  EXPECT_THAT(buffer.items(), ElementsAre(ContextItem{"rates", 0.3}, ContextItem{"rates", 1.0}));
  ASSERT_OK(buffer.Push({"gold"}));
  EXPECT_EQ(*buffer.Filter("Rates"), 1);
  EXPECT_THAT(buffer.items(), ElementsAre(ContextItem{"rates", 1.0}, ContextItem{"rates", 1.0}));
  EXPECT_THAT(buffer.Filter(2), StatusIs(kInvalid, HasSubstr("expected 0 to 1")));
  EXPECT_THAT(buffer.Filter(""), StatusIs(kInvalid, HasSubstr("the query is empty")));
  EXPECT_EQ(buffer.items().size(), 2u);
}

TEST(ShortTermBufferTest, RefusesSizesBelowOneAndEmptyTexts) {
  EXPECT_THAT(ShortTermBuffer::Create({.capacity = 0}), StatusIs(kInvalid, HasSubstr("capacity")));
  EXPECT_THAT(ShortTermBuffer::Create({.context_window = 0}), StatusIs(kInvalid, HasSubstr("context window")));
  EXPECT_THAT(ShortTermBuffer::Create({.length = nullptr}), StatusIs(kInvalid, HasSubstr("length")));
  ASSERT_OK_AND_ASSIGN(ShortTermBuffer buffer, ShortTermBuffer::Create());
  EXPECT_THAT(buffer.Push({""}), StatusIs(kInvalid, HasSubstr("empty")));
  EXPECT_THAT(buffer.items(), IsEmpty());
}

RC_GTEST_PROP(ShortTermBufferTest, HoldsTheLastItemsAndAContextWithinTheWindow, (const std::vector<uint8_t>& sizes)) {
  const int64_t capacity = *rc::gen::inRange<int64_t>(1, 9), window = *rc::gen::inRange<int64_t>(1, 300);
  auto buffer = ShortTermBuffer::Create({.capacity = capacity, .context_window = window});
  std::deque<ContextItem> last;
  for (const uint8_t size : sizes) {
    last.push_back({std::string(size + size_t{1}, 'a')});
    RC_ASSERT(buffer->Push(last.back()).ok());
    if (last.size() > static_cast<size_t>(capacity)) last.pop_front();
    RC_ASSERT(buffer->items() == last);
    const std::vector<ContextItem> context = buffer->Context();
    int64_t length = 0;
    for (const ContextItem& item : context) length += CharactersOf(item.content);
    RC_ASSERT(length <= window);
    const size_t older = last.size() - context.size();
    if (older > 0) RC_ASSERT(length + CharactersOf(last[older - 1].content) > window);
  }
}

// A clock that stands still during an operation, and then goes on by what the test sets.
struct SimulatedClock {
  int64_t now_us = 1000;
  int64_t latency_us = 0;
  bool is_in_operation = false;

  int64_t Read() {
    if (is_in_operation) now_us += latency_us;
    is_in_operation = !is_in_operation;
    return now_us;
  }
};

class AgentMemoryTest : public ::testing::Test {
 protected:
  AgentMemory Make(AgentMemoryOptions options = {}) {
    options.now_us = [this] { return clock_.Read(); };
    return *AgentMemory::Create(std::make_unique<InMemoryStore>(), std::move(options));
  }

  SimulatedClock clock_;
};

TEST_F(AgentMemoryTest, StoresWithTheTimeOfTheClock) {
  AgentMemory memory = Make();
  clock_.latency_us = 250;
  ASSERT_OK_AND_ASSIGN(const std::string id, memory.Add({.content = "rates rise"}));
  EXPECT_EQ(memory.store().Get(id)->timestamp, 1000);
  ASSERT_OK(memory.Update(id, "rates fall", {{"seen", "yes"}}));
  EXPECT_EQ(*memory.store().Get(id), (MemoryEntry{id, "rates fall", "agent", "note", 1250, {{"seen", "yes"}}}));
  ASSERT_OK(memory.Delete(id));
  EXPECT_EQ(*memory.store().Size(), 0);
}

TEST_F(AgentMemoryTest, CountsOperationsSuccessesAndTime) {
  AgentMemory memory = Make();
  EXPECT_EQ(memory.statistics(MemoryOperation::kAdd), OperationStatistics());
  clock_.latency_us = 300;
  ASSERT_OK(memory.Add({.content = "a"}));
  EXPECT_THAT(memory.Add({.content = ""}), StatusIs(kInvalid, HasSubstr("empty")));
  clock_.latency_us = 50;
  EXPECT_THAT(memory.Delete("0"), StatusIs(kNotFound, HasSubstr("\"0\"")));
  EXPECT_THAT(memory.Update("0", "b"), StatusIs(kNotFound, HasSubstr("\"0\"")));
  ASSERT_OK(memory.Retrieve("nothing of this"));
  EXPECT_THAT(memory.Summary(), StatusIs(kPrecondition, HasSubstr("nothing to summarize")));
  ASSERT_OK(memory.Filter({}));
  EXPECT_EQ(memory.statistics(MemoryOperation::kAdd), (OperationStatistics{2, 1, 600}));
  EXPECT_EQ(memory.statistics(MemoryOperation::kUpdate), (OperationStatistics{1, 0, 50}));
  EXPECT_EQ(memory.statistics(MemoryOperation::kDelete), (OperationStatistics{1, 0, 50}));
  EXPECT_EQ(memory.statistics(MemoryOperation::kRetrieve), (OperationStatistics{1, 1, 50}));
  EXPECT_EQ(memory.statistics(MemoryOperation::kSummary), (OperationStatistics{1, 0, 50}));
  EXPECT_EQ(memory.statistics(MemoryOperation::kFilter), (OperationStatistics{1, 1, 50}));
}

TEST_F(AgentMemoryTest, AppendsWhatItRetrievesToTheBuffer) {
  AgentMemory memory = Make({.buffer = {.capacity = 3}});
  for (const char* content : {"gold rises", "rates rise", "rates fall"}) ASSERT_OK(memory.Add({.content = content}));
  ASSERT_OK_AND_ASSIGN(const std::vector<MemoryHit> hits, memory.Retrieve("rates rise"));
  ASSERT_EQ(hits.size(), 3u);
  EXPECT_EQ(hits[0].entry.content, "rates rise");
  EXPECT_EQ(memory.buffer().items()[0], (ContextItem{"rates rise", 1.0, MemoryId("rates rise")}));
  ASSERT_OK(memory.Retrieve("gold", 1));
  EXPECT_THAT(ContentsOf(memory.buffer().Context()), ElementsAre("gold rises", "rates fall", "gold rises"));
  EXPECT_THAT(memory.Retrieve(""), StatusIs(kInvalid, HasSubstr("the query is empty")));
  EXPECT_EQ(memory.buffer().items().size(), 3u);
}

TEST_F(AgentMemoryTest, SummarizesTheContextWithoutAModelOrAsksOne) {
  AgentMemory plain = Make();
  ASSERT_OK(plain.buffer().Push({"a"}));
  ASSERT_OK(plain.buffer().Push({"b"}));
  EXPECT_EQ(*plain.Summary(), "a | b");
  EXPECT_EQ(*plain.Summary(std::vector<ContextItem>{{"c"}}), "c");

  std::string answer = "short";
  AgentMemory asking = Make({.summarize = [&](const std::string& texts) -> absl::StatusOr<std::string> {
    if (texts == "fail") return absl::UnavailableError("the model is away");
    return answer.empty() ? "" : answer + ": " + texts;
  }});
  EXPECT_EQ(*asking.Summary(std::vector<ContextItem>{{"c"}, {"d"}}), "short: c\nd");
  EXPECT_THAT(asking.Summary(), StatusIs(kPrecondition, HasSubstr("nothing to summarize")));
  EXPECT_THAT(asking.Summary(std::vector<ContextItem>{{"fail"}}),
              StatusIs(absl::StatusCode::kUnavailable, "the model is away"));
  answer = "";
  EXPECT_THAT(asking.Summary(std::vector<ContextItem>{{"c"}}), StatusIs(kPrecondition, HasSubstr("empty summary")));
}

TEST_F(AgentMemoryTest, ProcessesAQueryByRetrievalFilterAndSummary) {
  AgentMemory memory = Make();
  for (const char* content : {"gold is up", "rates rise", "Rates fall now"})
    ASSERT_OK(memory.Add({.content = content}));
  EXPECT_EQ(*memory.ProcessQuery("rates fall"), "Rates fall now | rates rise");
  EXPECT_EQ(*memory.ProcessQuery("rates fall", 1), "Rates fall now");
  EXPECT_EQ(*memory.ProcessQuery("rates fall", 5, 0.6), "Rates fall now");
  EXPECT_THAT(memory.ProcessQuery("silver"), StatusIs(kNotFound, "no memory matches the query \"silver\""));
  EXPECT_THAT(memory.ProcessQuery("is silver or copper"),
              StatusIs(kNotFound, AllOf(HasSubstr("no memory has a score of 0.5"), HasSubstr("the best has 0.25"))));
  EXPECT_EQ(memory.statistics(MemoryOperation::kRetrieve).count, 5);
  EXPECT_EQ(memory.statistics(MemoryOperation::kFilter).count, 4);
  EXPECT_EQ(memory.statistics(MemoryOperation::kSummary).count, 3);
}

TEST_F(AgentMemoryTest, RetrievesByCosineWhenItIsAskedTo) {
  AgentMemory memory = Make({.similarity = Similarity::kCosine});
  for (const char* content : {"revenue apple fell", "apple revenue fell"}) ASSERT_OK(memory.Add({.content = content}));
  EXPECT_EQ((*memory.Retrieve("apple revenue grew", 1))[0].score, 0.6);
}

TEST_F(AgentMemoryTest, NeedsAStoreAndAClock) {
  EXPECT_THAT(AgentMemory::Create(nullptr, {.now_us = [] { return 0; }}), StatusIs(kInvalid, HasSubstr("store")));
  EXPECT_THAT(AgentMemory::Create(std::make_unique<InMemoryStore>(), {}), StatusIs(kInvalid, HasSubstr("clock")));
  EXPECT_THAT(
      AgentMemory::Create(std::make_unique<InMemoryStore>(), {.now_us = [] { return 0; }, .buffer = {.capacity = 0}}),
      StatusIs(kInvalid, HasSubstr("capacity")));
}

}  // namespace
}  // namespace reprise::data
