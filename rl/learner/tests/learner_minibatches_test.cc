// Tests of minibatches of single episodes with the whole learner, and of the sums over one.

#include "core/comm/testing/thread_communicator.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/learner/minibatches.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

using testing::ExpectSame;
using testing::MetricOf;
using testing::Outcome;
using testing::RunLearner;

// 44 completions of 11 prompts in 13 minibatches: most groups are cut.
Config CutGroups(const std::string& algorithm = "grpo") {
  Config config = testing::SmallRun();
  config.algorithm.name = algorithm;
  config.algorithm.num_iterations = 2;
  config.algorithm.num_mini_batches = 13;
  config.algorithm.minibatches_of = "episodes";
  return config;
}

Outcome RunAll(const Config& config, const testing::HowToRun& how = {}) {
  Outcome outcome;
  outcome.sink.keep_states = true;
  EXPECT_OK(RunLearner(config, how, &outcome));
  return outcome;
}

TEST(LearnerMinibatchesTest, OfEpisodesGiveTheSameBitsOnAnyRanksThreadsAndMicroBatches) {
  for (const char* algorithm : {"grpo", "ppo"}) {
    SCOPED_TRACE(algorithm);
    Config config = CutGroups(algorithm);
    const Outcome alone = RunAll(config);
    ExpectSame(alone, RunAll(config, {.ranks = 3}));
    config.execution.threads = 2;
    config.execution.micro_batch_tokens = 12;
    ExpectSame(alone, RunAll(config, {.ranks = 8}));
    ExpectSame(alone, RunAll(config, {.ranks = 2, .replay = &alone.sink.records}));
  }
}

TEST(LearnerMinibatchesTest, OfEpisodesResumeAfterAnyStepToTheSameResult) {
  const Config config = CutGroups();
  const Outcome whole = RunAll(config);
  for (const size_t done : {3u, 5u}) {
    const Outcome rest = RunAll(config, {.ranks = 2, .from = &whole.sink.states[done]});
    ASSERT_EQ(rest.sink.records.size(), whole.sink.records.size() - done - 1);
    for (size_t i = 0; i < rest.sink.records.size(); ++i) {
      const auto found = FirstDivergence(whole.sink.records[done + 1 + i], rest.sink.records[i], {});
      EXPECT_FALSE(found.has_value()) << found->ToString();
    }
  }
}

TEST(LearnerMinibatchesTest, OfEpisodesDifferFromThoseOfGroupsAndAreReported) {
  Config episodes = CutGroups(), groups = CutGroups();
  groups.algorithm.num_mini_batches = episodes.algorithm.num_mini_batches = 11;
  groups.algorithm.minibatches_of = "groups";
  const StepRecord a = RunAll(episodes).sink.records.back(), b = RunAll(groups).sink.records.back();
  EXPECT_NE(a.weight_digests, b.weight_digests);
  EXPECT_EQ(MetricOf(a, "loader/total"), 44);
  EXPECT_EQ(MetricOf(a, "loader/valid"), 44);
  EXPECT_EQ(MetricOf(a, "loader/invalid"), 0);
  EXPECT_EQ(MetricOf(a, "loader/avg_turns"), 1);
  EXPECT_EQ(MetricOf(a, "loader/avg_reward"), MetricOf(a, "reward"));
  EXPECT_EQ(MetricOf(a, "loader/num_batches"), 11);
  EXPECT_TRUE(std::isnan(MetricOf(b, "loader/total")));
}

// Without learning every update sees the same policy, so that the reported entropy is that of all episodes.
TEST(LearnerMinibatchesTest, OfEpisodesVisitEachEpisodeOncePerIteration) {
  Config cut = CutGroups("episode_rloo"), whole = CutGroups("episode_rloo");
  cut.algorithm.num_iterations = whole.algorithm.num_iterations = 1;
  whole.algorithm.num_mini_batches = 1;
  cut.optimizer.learning_rate = whole.optimizer.learning_rate = 0;
  const StepRecord a = RunAll(cut).sink.records.back(), b = RunAll(whole).sink.records.back();
  EXPECT_NEAR(MetricOf(a, "entropy"), MetricOf(b, "entropy"), 1e-12);
  EXPECT_EQ(MetricOf(a, "reward"), MetricOf(b, "reward"));
}

// Two prompts of two episodes each: what target_kl is compared with.
TEST(ApproxKlOfMinibatchTest, IsTheMeanOverTheMinibatchsTokensOnAnyNumberOfRanks) {
  const double kl_N[] = {1, 2, 4, 8};
  const int64_t tokens_N[] = {1, 1, 2, 4};
  for (const int ranks : {1, 2}) {
    EXPECT_OK(RunAsRanks(ranks, [&](Communicator& comm) {
      const StepShape shape = {Phase::kTraining, 1, 2, 2, comm.rank()};
      std::vector<EpisodeOutcome> outcome_N;
      for (int64_t n = 2 * comm.rank(); n < (ranks == 1 ? 4 : 2 * comm.rank() + 2); ++n) {
        EpisodeOutcome& outcome = outcome_N.emplace_back();
        outcome.metrics.approx_kl_sum = kl_N[n];
        outcome.metrics.num_tokens = tokens_N[n];
      }
      EXPECT_EQ(ApproxKlOfMinibatch(comm, shape, outcome_N, {0, 3}).value(), 9.0 / 5);
      EXPECT_EQ(ApproxKlOfMinibatch(comm, shape, outcome_N, {1, 2}).value(), 6.0 / 3);
      EXPECT_EQ(ApproxKlOfMinibatch(comm, shape, outcome_N, {0}).value(), 1.0);
      EXPECT_EQ(ApproxKlOfMinibatch(comm, shape, outcome_N, {0, 1, 2, 3}).value(), 15.0 / 8);
      return absl::OkStatus();
    }));
  }
}

}  // namespace
}  // namespace reprise::rl
