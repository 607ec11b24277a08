#include "pipelines/sweeps/trials/trial_facts.h"

#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/load.h"

namespace reprise {
namespace {

TrialFacts FactsWith(const std::vector<std::string>& overrides, const std::string& axis) {
  const absl::StatusOr<rl::ResolvedConfig> resolved = rl::LoadConfig("", "c.toml", overrides);
  EXPECT_OK(resolved);
  const absl::StatusOr<TrialFacts> facts = ParseTrialFacts(StoredText(resolved->config), {}, {axis});
  EXPECT_OK(facts);
  return *facts;
}

// An axis decides which other keys are read, so that a text has them, and which values of its own an algorithm has.
TEST(TrialFactsTest, TrialsThatDifferInAnAxisHaveTheSameRestAndProblemWhateverKeysItBringsAlong) {
  struct Values {
    const char *axis, *first, *second;
  };
  for (const Values& of : {Values{"algorithm.beta", "0", "0.1"}, Values{"algorithm.epsilon", "0.1", "0.2"},
                           Values{"algorithm.loss_type", "grpo", "dapo"}, Values{"algorithm.clip", "two_sided", "none"},
                           Values{"algorithm.name", "rloo", "ppo"}, Values{"lora.r", "0", "2"},
                           Values{"optimizer.name", "adamw", "muon_grokfast"}, Values{"sft.steps", "0", "3"},
                           Values{"evaluation.every", "0", "5"}}) {
    const std::string key = of.axis;
    const TrialFacts a = FactsWith({key + "=" + of.first}, key), b = FactsWith({key + "=" + of.second}, key);
    EXPECT_NE(a.config_sha256, b.config_sha256) << key;
    EXPECT_NE(a.settings, b.settings) << key;
    EXPECT_EQ(a.rest, b.rest) << key;
    EXPECT_EQ(a.problem, b.problem) << key;
    const TrialFacts other = FactsWith({key + "=" + of.first, "optimizer.beta1=0.5", "data.task=sort"}, key);
    EXPECT_NE(a.rest, other.rest) << key;
    EXPECT_NE(a.problem, other.problem) << key;
  }
}

TEST(TrialFactsTest, AKeyThatAnotherMakesUnreadHasNoValue) {
  const TrialFacts constant = FactsWith({"optimizer.schedule=constant"}, "optimizer.min_lr_rate");
  const TrialFacts falling = FactsWith({"optimizer.min_lr_rate=0.1"}, "optimizer.min_lr_rate");
  EXPECT_EQ(constant.settings[0], "");
  EXPECT_EQ(falling.settings[0], "0.1");
  EXPECT_FALSE(Reads(constant, "optimizer.min_lr_rate"));
  EXPECT_TRUE(Reads(falling, "optimizer.min_lr_rate"));
  EXPECT_EQ(ValueOfKey(constant, "optimizer.min_lr_rate"), "");
  EXPECT_EQ(ValueOfKey(falling, "optimizer.min_lr_rate"), "0.1");
  EXPECT_EQ(ValueOfKey(constant, "optimizer.beta1"), "0.9") << "a default that is read";
  EXPECT_EQ(ValueOfKey(constant, "quiet_star.counted"), "") << "a key of another workload";
}

}  // namespace
}  // namespace reprise
