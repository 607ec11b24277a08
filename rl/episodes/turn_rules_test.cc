#include "rl/episodes/turn_rules.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(TurnRulesTest, StopsAreAJsonListOfTexts) {
  for (const std::string environment : {"", "countdown"}) {
    Config config;
    config.environment.name = environment;
    std::string& stop = environment.empty() ? config.rollout.stop : config.environment.stop;
    ASSERT_OK_AND_ASSIGN(TurnRules rules, MakeTurnRules(config, {3}));
    EXPECT_TRUE(rules.stops.empty());
    EXPECT_EQ(rules.end_tokens, std::vector<int32_t>{3});
    stop = R"(["\n", "</answer>"])";
    ASSERT_OK_AND_ASSIGN(rules, MakeTurnRules(config, {3}));
    EXPECT_EQ(rules.stops, (std::vector<std::string>{"\n", "</answer>"}));
    for (const char* bad : {"\n", "stop", "[1]", "[\"\"]", "{\"a\": 1}"}) {
      stop = bad;
      EXPECT_THAT(MakeTurnRules(config, {}),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr(environment.empty() ? "rollout.stop is not a JSON list"
                                                         : "environment.stop is not a JSON")));
    }
  }
}

TEST(TurnRulesTest, StopTokensFollowTheModelsOwnEachOnce) {
  Config config;
  config.rollout.stop_token_ids = "[9, 3, 9, 0]";
  ASSERT_OK_AND_ASSIGN(const TurnRules rules, MakeTurnRules(config, {3, 4}));
  EXPECT_EQ(rules.end_tokens, (std::vector<int32_t>{3, 4, 9, 0}));
  for (const char* bad : {"9", "[-1]", "[\"9\"]", "[1.5]", "[3000000000]", "9 3"}) {
    config.rollout.stop_token_ids = bad;
    EXPECT_THAT(MakeTurnRules(config, {}), StatusIs(absl::StatusCode::kInvalidArgument,
                                                    HasSubstr("rollout.stop_token_ids is not a JSON list of tokens")));
  }
}

}  // namespace
}  // namespace reprise::rl
