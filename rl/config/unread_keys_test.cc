#include "rl/config/unread_keys.h"

#include <functional>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/algorithm_choice.h"
#include "rl/config/key_use.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

std::string MessageOf(const std::function<void(Config&)>& choose) {
  Config config;
  choose(config);
  return std::string(CheckKeysAreRead(config).message());
}

TEST(UnreadKeysTest, WhatEveryRowSaysOfItselfIsRead) {
  for (const absl::string_view name : AlgorithmNames()) {
    Config config;
    config.algorithm.name = std::string(name);
    EXPECT_OK(CheckKeysAreRead(config)) << name;
    EXPECT_OK(FillAlgorithm(&config.algorithm));
    EXPECT_OK(CheckKeysAreRead(config)) << name;
    config.algorithm = WithOwnValues(config.algorithm);  // as older runs are written down
    EXPECT_OK(CheckKeysAreRead(config)) << name;
  }
}

TEST(UnreadKeysTest, AKeyThatNothingReadsIsRefusedWithWhatItNeeds) {
  EXPECT_EQ(MessageOf([](Config& c) { c.algorithm.normalize_advantages = true; }),
            "algorithm.normalize_advantages is set, but nothing would read it: it needs algorithm.baseline "
            "leave_one_out; or leave it out");
  EXPECT_THAT(MessageOf([](Config& c) { c.algorithm.gamma = 0.9; }), HasSubstr("algorithm.gamma is set"));
  EXPECT_THAT(MessageOf([](Config& c) { c.algorithm.value_model = "network"; }), HasSubstr("needs algorithm.baseline"));
  EXPECT_THAT(MessageOf([](Config& c) { c.algorithm.name = "rloo", c.algorithm.scale_rewards = "batch"; }),
              HasSubstr("algorithm.scale_rewards is set"));
  EXPECT_THAT(MessageOf([](Config& c) { c.algorithm.name = "opo", c.algorithm.dual_clip = 3; }),
              HasSubstr("algorithm.dual_clip is set, but nothing would read it: it needs algorithm.clip two_sided"));
  EXPECT_THAT(MessageOf([](Config& c) { c.algorithm.name = "ppo", c.algorithm.use_bias_correction_kl = "off"; }),
              HasSubstr("algorithm.use_bias_correction_kl"));
  EXPECT_THAT(MessageOf([](Config& c) { c.algorithm.sync_ref_model = true; }), HasSubstr("algorithm.beta above 0"));
  EXPECT_THAT(MessageOf([](Config& c) { c.algorithm.kl_schedule = "proportional"; }), HasSubstr("that leaves 0"));
  EXPECT_THAT(MessageOf([](Config& c) { c.algorithm.aggregation = "turn_mean"; }), HasSubstr("environment.name"));
  EXPECT_THAT(MessageOf([](Config& c) { c.environment.max_turns = 3; }), HasSubstr("environment.max_turns is set"));
  EXPECT_THAT(MessageOf([](Config& c) { c.environment.name = "number_guess", c.environment.kinds = 5; }),
              HasSubstr("environment.name grid_navigation"));
}

TEST(UnreadKeysTest, AreReadWhereTheirChoiceIsMade) {
  const auto expect_read = [](const std::function<void(Config&)>& choose) { EXPECT_EQ(MessageOf(choose), ""); };
  expect_read([](Config& c) { c.algorithm.name = "rloo", c.algorithm.normalize_advantages = true; });
  expect_read([](Config& c) { c.algorithm.name = "reinforce_plus_plus", c.algorithm.gamma = 0.9; });
  expect_read([](Config& c) { c.algorithm.beta = 0.1, c.algorithm.sync_ref_model = true; });
  expect_read([](Config& c) { c.algorithm.kl_schedule = "banded", c.algorithm.kl_target = 0.1; });
  expect_read([](Config& c) { c.environment.name = "countdown", c.environment.numbers = 4; });
}

// Rows that do not read a value do not show one; those who know it all are told it all.
TEST(UnreadKeysTest, ValuesThatARowDoesNotReadAreNotFilledIn) {
  AlgorithmConfig rloo;
  rloo.name = "rloo";
  EXPECT_EQ(WithOwnValues(rloo).scale_rewards, "group");
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> filled, FillAlgorithm(&rloo));
  EXPECT_EQ(rloo.scale_rewards, "");
  EXPECT_THAT(filled, ::testing::Not(::testing::Contains("algorithm.scale_rewards")));
  EXPECT_EQ(rloo.epsilon, 0.2);
  AlgorithmConfig reinforce;
  reinforce.name = "reinforce";
  ASSERT_OK(FillAlgorithm(&reinforce).status());
  EXPECT_EQ(reinforce.scale_rewards, "none");
  EXPECT_EQ(reinforce.epsilon, -1);
}

}  // namespace
}  // namespace reprise::rl
