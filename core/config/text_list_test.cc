#include "core/config/text_list.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::config {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

TEST(TextListTest, IsAJsonListOfTexts) {
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> texts, TextListOf("a.key", R"(["\n", "\"x\":"])"));
  EXPECT_EQ(texts, (std::vector<std::string>{"\n", "\"x\":"}));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> none, TextListOf("a.key", ""));
  EXPECT_TRUE(none.empty());
}

TEST(TextListTest, RejectsAnythingElseAndNamesTheKey) {
  for (const char* bad : {"\n", "stop", "[1]", "[\"\"]", "{\"a\": 1}"}) {
    EXPECT_THAT(TextListOf("a.key", bad),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a.key is not a JSON")));
  }
}

}  // namespace
}  // namespace reprise::config
