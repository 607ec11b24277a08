#include "rl/memory_agent/actions.h"

#include <set>
#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

TEST(MemoryActionsTest, HaveTheNumbersOfTheActionHead) {
  ASSERT_EQ(kNumMemoryActions, 6);
  const std::string names[] = {"add", "update", "delete", "retrieve", "summary", "filter"};
  for (int32_t number = 0; number < kNumMemoryActions; ++number) {
    EXPECT_EQ(NameOf(static_cast<MemoryAction>(number)), names[number]);
  }
  EXPECT_EQ(static_cast<int32_t>(MemoryAction::kFilter), 5);
}

// A table by identifiers in upper case made every name the first action.
TEST(MemoryActionsTest, EveryNameIsReadAsItsOwnAction) {
  std::set<MemoryAction> parsed;
  for (int32_t number = 0; number < kNumMemoryActions; ++number) {
    const MemoryAction action = static_cast<MemoryAction>(number);
    ASSERT_OK_AND_ASSIGN(const MemoryAction read, ParseMemoryAction(NameOf(action)));
    EXPECT_EQ(read, action);
    parsed.insert(read);
  }
  EXPECT_EQ(parsed.size(), 6u);
}

TEST(MemoryActionsTest, AnUnknownNameIsAnErrorThatListsTheActions) {
  for (const char* const name : {"ADD", "", "store", "add "}) {
    EXPECT_THAT(ParseMemoryAction(name),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("Known are: add, update, delete, retrieve, summary, filter")))
        << name;
  }
  EXPECT_THAT(ParseMemoryAction("retreive"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"retrieve\"?")));
}

TEST(MemoryActionsTest, IdentifiersAreInUpperCaseAndKindsAreThreeOfEach) {
  EXPECT_EQ(IdentifierOf(MemoryAction::kAdd), "ADD");
  EXPECT_EQ(IdentifierOf(MemoryAction::kRetrieve), "RETRIEVE");
  for (const MemoryAction action : {MemoryAction::kAdd, MemoryAction::kUpdate, MemoryAction::kDelete}) {
    EXPECT_EQ(KindOf(action), MemoryKind::kLongTerm);
  }
  for (const MemoryAction action : {MemoryAction::kRetrieve, MemoryAction::kSummary, MemoryAction::kFilter}) {
    EXPECT_EQ(KindOf(action), MemoryKind::kShortTerm);
  }
}

}  // namespace
}  // namespace reprise::rl
