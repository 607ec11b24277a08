#include "rl/learner/divergence.h"

#include <functional>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

StepRecord Example() {
  StepRecord record;
  record.step = 12;
  record.task_P = {{0, "1+2=", "3", {49, 43, 50, 61}}};
  for (int64_t sample = 0; sample < 2; ++sample) {
    EpisodeRecord episode;
    episode.sample = sample;
    episode.terminated = true;
    episode.tokens = {51, 1};
    episode.logprobs = {-0.5f, -0.25f};
    episode.ref_logprobs = {-0.5f, -0.5f};
    episode.behaviour_logprobs = {-0.25f, -0.25f};
    episode.rewards_F = {1.0};
    episode.reward = 1.0;
    record.episode_N.push_back(episode);
  }
  record.metrics = {{"grad_norm", 0.5}, {"reward", 1.0}};
  record.gradient_digests = {Sha256("a"), Sha256("b")};
  record.weight_digests = {Sha256("c"), Sha256("d")};
  return record;
}

const std::vector<std::string> kNames = {"model.embed_tokens.weight", "model.norm.weight"};

TEST(FirstDivergenceTest, FindsNoneBetweenEqualRecords) {
  EXPECT_FALSE(FirstDivergence(Example(), Example(), kNames).has_value());
}

struct Case {
  std::function<void(StepRecord&)> change;
  std::string stage, tensor;
};

TEST(FirstDivergenceTest, NamesStageAndTensorOfTheFirstDifference) {
  const std::vector<Case> cases = {
      {[](StepRecord& r) { r.task_P[0].answer = "4"; }, "tasks", "prompt 0 answer"},
      {[](StepRecord& r) { r.episode_N[1].tokens[1] = 2; }, "tokens", "prompt 0 sample 1 token 1"},
      {[](StepRecord& r) { r.episode_N[1].logprobs[0] = -0.75f; }, "logprobs", "prompt 0 sample 1 token 0"},
      {[](StepRecord& r) { r.episode_N[1].ref_logprobs[0] = -0.75f; }, "logprobs",
       "prompt 0 sample 1 under the reference token 0"},
      {[](StepRecord& r) { r.episode_N[0].ref_logprobs.clear(); }, "logprobs",
       "prompt 0 sample 0 under the reference number of tokens"},
      {[](StepRecord& r) { r.episode_N[1].behaviour_logprobs[1] = -0.75f; }, "logprobs",
       "prompt 0 sample 1 under the behaviour token 1"},
      {[](StepRecord& r) { r.episode_N[0].reward = 0; }, "rewards", "prompt 0 sample 0"},
      {[](StepRecord& r) { r.episode_N[0].advantage = -0.0; }, "advantages", "prompt 0 sample 0"},
      {[](StepRecord& r) { r.gradient_digests[1] = Sha256("x"); }, "gradient", "model.norm.weight"},
      {[](StepRecord& r) { r.weight_digests[0] = Sha256("x"); }, "weights", "model.embed_tokens.weight"},
      {[](StepRecord& r) { r.metrics[0].second = 0.25; }, "metrics", "grad_norm"},
      // The cause comes before its consequence, whatever the episode.
      {[](StepRecord& r) { r.episode_N[0].reward = 0, r.episode_N[1].logprobs[1] = 0; }, "logprobs",
       "prompt 0 sample 1 token 1"},
  };
  for (const Case& c : cases) {
    StepRecord changed = Example();
    c.change(changed);
    const std::optional<Divergence> found = FirstDivergence(Example(), changed, kNames);
    ASSERT_TRUE(found.has_value()) << c.stage;
    EXPECT_EQ(found->stage, c.stage);
    EXPECT_EQ(found->tensor, c.tensor);
    EXPECT_EQ(found->step, 12);
  }
}

TEST(FirstDivergenceTest, SaysBothValues) {
  StepRecord changed = Example();
  changed.episode_N[1].tokens[1] = 2;
  EXPECT_EQ(FirstDivergence(Example(), changed, kNames)->ToString(),
            "step 12, tokens, prompt 0 sample 1 token 1: stored 1, computed 2");
}

TEST(FirstDivergenceTest, ComparesDigestsOnlyWhereBothHaveThem) {
  StepRecord undigested = Example();
  undigested.gradient_digests.clear();
  EXPECT_FALSE(FirstDivergence(undigested, Example(), kNames).has_value());
}

}  // namespace
}  // namespace reprise::rl
