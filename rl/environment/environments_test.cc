#include "rl/environment/environments.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(EnvironmentsTest, AreFoundByName) {
  Config config;
  ASSERT_OK_AND_ASSIGN(const auto none, MakeEnvironment(config, nullptr));
  EXPECT_EQ(none, nullptr);
  for (const char* name : {"number_guess", "countdown"}) {
    config.environment.name = name;
    ASSERT_OK_AND_ASSIGN(const auto environment, MakeEnvironment(config, nullptr));
    EXPECT_TRUE(environment->TaskAt({}).has_value()) << name;
  }
  config.environment.name = "number_gues";
  EXPECT_THAT(MakeEnvironment(config, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("number_guess")));
}

TEST(EnvironmentsTest, StopsAreAJsonListOfTexts) {
  EnvironmentConfig config;
  ASSERT_OK_AND_ASSIGN(TurnRules rules, TurnRulesOf(config, {3}));
  EXPECT_TRUE(rules.stops.empty());
  EXPECT_EQ(rules.end_tokens, std::vector<int32_t>{3});
  config.stop = R"(["\n", "</answer>"])";
  ASSERT_OK_AND_ASSIGN(rules, TurnRulesOf(config, {3}));
  EXPECT_EQ(rules.stops, (std::vector<std::string>{"\n", "</answer>"}));
  for (const char* bad : {"\n", "stop", "[1]", "[\"\"]", "{\"a\": 1}"}) {
    config.stop = bad;
    EXPECT_THAT(TurnRulesOf(config, {}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("environment.stop")));
  }
}

}  // namespace
}  // namespace reprise::rl
