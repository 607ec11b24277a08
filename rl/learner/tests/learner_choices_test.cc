// Tests of what a configuration can choose besides an algorithm's name: each choice changes what is learned, and its
// result does not depend on ranks, threads or batches, or on whether tokens are sampled or replayed.

#include <cmath>
#include <functional>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

using testing::ExpectSame;
using testing::GetMetric;
using testing::Outcome;
using testing::RunLearner;

struct Choice {
  std::string name;
  std::function<void(AlgorithmConfig& algorithm)> make;
};

void PrintTo(const Choice& choice, std::ostream* out) { *out << choice.name; }

// Two updates per step and a large learning rate, so that ratios leave the clipping range.
Config RunOf(const Choice& choice) {
  Config config = testing::SmallRun();
  config.run.steps = 3;
  config.optimizer.learning_rate = 0.02;
  choice.make(config.algorithm);
  return config;
}

const Choice kPlain = {"plain", [](AlgorithmConfig&) {}};

class LearnerChoicesTest : public ::testing::TestWithParam<Choice> {};

INSTANTIATE_TEST_SUITE_P(
    Each, LearnerChoicesTest,
    ::testing::ValuesIn(std::vector<Choice>{
        {"baseline", [](AlgorithmConfig& a) { a.advantage.baseline = Baseline::kLengthWeighted; }},
        {"running_mean", [](AlgorithmConfig& a) { a.advantage.baseline = Baseline::kRunningMean, a.baseline_decay = 0.5; }},
        {"greedy", [](AlgorithmConfig& a) { a.advantage.baseline = Baseline::kGreedy; }},
        {"normalized", [](AlgorithmConfig& a) { a.advantage.baseline = Baseline::kLeaveOneOut, a.advantage.normalize_advantages = true; }},
        {"ddof", [](AlgorithmConfig& a) { a.advantage.ddof = 0; }},
        {"steps", [](AlgorithmConfig& a) { a.advantage.baseline = Baseline::kStepGroupMean, a.advantage.gamma = 0.5; }},
        {"steps_of_others", [](AlgorithmConfig& a) { a.advantage.baseline = Baseline::kStepLeaveOneOut; }},
        {"whitened", [](AlgorithmConfig& a) { a.advantage.whiten_tokens = true, a.advantage.scale_rewards = ScaleRewards::kNone; }},
        {"discounted", [](AlgorithmConfig& a) { SelectPreset("reinforce_plus_plus", &a), a.advantage.gamma = 0.9; }},
        {"dynamic_sampling", [](AlgorithmConfig& a) { a.dynamic_sampling = true; }},
        {"two_rewards", [](AlgorithmConfig& a) { a.reward.functions = "exact_match character_match", a.reward.weights = "2 3"; }},
        {"normalize_then_sum",
         [](AlgorithmConfig& a) {
           a.reward.functions = "exact_match character_match", a.advantage.multi_objective_aggregation = RewardAggregation::kNormalizeThenSum;
         }},
        {"sapo_gate", [](AlgorithmConfig& a) { SetClip(Clip::kSapo, &a), a.loss.sapo_temperature_pos = 3; }},
        {"vespo_weight", [](AlgorithmConfig& a) { SetClip(Clip::kVespo, &a), a.loss.vespo.k_pos = 1; }},
        {"divergence_in_reward", [](AlgorithmConfig& a) { SetBeta(0.5, &a), SetKlInReward(true, &a); }},
        {"clipped_reward", [](AlgorithmConfig& a) { a.advantage.reward_clip_range = {{0.1, 0.4}}, a.advantage.scale_rewards = ScaleRewards::kNone; }},
        {"soft_overlong", [](AlgorithmConfig& a) { a.reward.soft_punish_cache = 3; }},
        {"missing_eos", [](AlgorithmConfig& a) { a.reward.missing_eos_penalty = 0.5; }},
        {"overlong_filter", [](AlgorithmConfig& a) { a.mask_truncated_completions = true; }},
        {"clip", [](AlgorithmConfig& a) { SetClip(Clip::kNone, &a); }},
        {"aggregation", [](AlgorithmConfig& a) { SetAggregation(Aggregation::kSum, &a); }},
        {"level", [](AlgorithmConfig& a) { a.loss.importance_sampling_level = ImportanceLevel::kSequence; }},
        {"delta", [](AlgorithmConfig& a) { a.loss.delta = 1.01; }},
        {"dual_clip", [](AlgorithmConfig& a) { a.loss.dual_clip = 1.01; }},
        {"off_policy_mask", [](AlgorithmConfig& a) { a.loss.off_policy_mask_threshold = 0; }},
        {"estimator", [](AlgorithmConfig& a) { SetBeta(0.5, &a), SetEstimator(KlEstimator::kK2, &a); }},
        {"uncorrected", [](AlgorithmConfig& a) { SetBeta(0.5, &a), a.loss.use_bias_correction_kl = false; }},
        {"entropy",
         [](AlgorithmConfig& a) { a.entropy.entropy_coef = 0.05, a.entropy.decay = 0.5, a.entropy.floor = 0.02; }},
        {"adaptive_entropy",
         [](AlgorithmConfig& a) {
           a.entropy.adaptive = true, a.entropy.entropy_coef = 0.05, a.entropy.delta = 0.02, a.entropy.target = 3;
         }},
        {"optimal",
         [](AlgorithmConfig& a) {
           a.advantage.baseline = Baseline::kOptimal, a.advantage.scale_rewards = ScaleRewards::kNone, a.optimal.num_samples = 3, a.optimal.filter_all_incorrect = false;
         }},
        {"gmpo_clip", [](AlgorithmConfig& a) { SetClip(Clip::kGmpo, &a), SetEpsilon(0.01, &a); }},
        {"regression", [](AlgorithmConfig& a) { SetClip(Clip::kRegression, &a), a.loss.regression_beta = 0.1; }},
        {"top_entropy", [](AlgorithmConfig& a) { a.loss.top_entropy_quantile = 0.3; }},
        {"minibatches", [](AlgorithmConfig& a) { a.update.num_mini_batches = 4; }},
        {"minibatches_entropy", [](AlgorithmConfig& a) { a.update.num_mini_batches = 3, a.loss.top_entropy_quantile = 0.5; }},
        {"episodes_entropy",
         [](AlgorithmConfig& a) {
           a.update.num_mini_batches = 6, a.update.unit = MinibatchUnit::kEpisode, a.loss.top_entropy_quantile = 0.2;
         }},
        {"decisions", [](AlgorithmConfig& a) { a.update.num_mini_batches = 4, a.update.unit = MinibatchUnit::kDecision; }},
        {"decisions_entropy",
         [](AlgorithmConfig& a) {
           a.update.mini_batch_size = 30, a.update.unit = MinibatchUnit::kDecision, a.loss.top_entropy_quantile = 0.4, a.update.target_kl = 0.1;
         }},
        {"episodes_by_size", [](AlgorithmConfig& a) { a.update.mini_batch_size = 10, a.update.unit = MinibatchUnit::kEpisode; }},
        {"early_stop", [](AlgorithmConfig& a) { a.update.num_mini_batches = 2, a.update.target_kl = 0.01; }},
        {"linear", [](AlgorithmConfig& a) { SetBeta(0, &a), a.kl.schedule = KlSchedule::kLinear, a.kl.final = 1; }},
        {"proportional", [](AlgorithmConfig& a) { SetBeta(0.1, &a), a.kl.schedule = KlSchedule::kProportional, a.kl.horizon = 10; }},
        {"banded",
         [](AlgorithmConfig& a) {
           SetBeta(0.05, &a), a.kl.schedule = KlSchedule::kBanded, a.kl.interval = 1, a.kl.patience = 0, a.kl.tolerance = 0.001;
         }},
        {"banded_in_reward",
         [](AlgorithmConfig& a) {
           SelectPreset("rloo", &a), a.kl.schedule = KlSchedule::kBanded, a.kl.interval = 2, a.kl.patience = 0, a.kl.tolerance = 0.001;
         }},
        {"periodic_reference",
         [](AlgorithmConfig& a) {
           SetBeta(0.5, &a), a.reference.sync = true, a.reference.sync_steps = 2, a.reference.mixup_alpha = 1;
         }},
        {"following_reference",
         [](AlgorithmConfig& a) { SetBeta(0.5, &a), a.reference.sync = true, a.reference.sync_steps = 1; }},
    }),
    [](const auto& info) { return info.param.name; });

const Outcome& Plain() {
  static const Outcome* const plain = [] {
    auto* const outcome = new Outcome();
    EXPECT_OK(RunLearner(RunOf(kPlain), {}, outcome));
    return outcome;
  }();
  return *plain;
}

TEST_P(LearnerChoicesTest, ChangesWhatIsLearnedForAnyExecutionKeys) {
  Config config = RunOf(GetParam());
  Outcome alone, shared, replayed;
  ASSERT_OK(RunLearner(config, {}, &alone));
  ASSERT_OK(RunLearner(config, {.ranks = 3}, &shared));
  ExpectSame(alone, shared);
  config.execution.micro_batch_tokens = 9;
  config.execution.threads = 2;
  config.execution.decode_slots = 3;
  ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &alone.sink.records}, &replayed));
  ExpectSame(alone, replayed);
  EXPECT_GT(replayed.counts.cut_groups, 0);
  for (const StepRecord& record : alone.sink.records) {
    if (record.phase == Phase::kTraining) {
      EXPECT_EQ(GetMetric(record, "sampling/sampling_logp_difference/max"), 0.0);
      EXPECT_TRUE(std::isfinite(GetMetric(record, "loss")));
    }
  }
  for (size_t i = 0; i < 3; ++i) {  // the SFT phase
    const auto divergence = FirstDivergence(Plain().sink.records[i], alone.sink.records[i], {});
    EXPECT_FALSE(divergence.has_value()) << divergence->ToString();
  }
  const auto weights_after = [](const Outcome& outcome, size_t step) {
    return outcome.sink.records[step].weight_digests;
  };
  EXPECT_TRUE(weights_after(alone, 5) != weights_after(Plain(), 5));
}

TEST_P(LearnerChoicesTest, ResumesFromEveryStepOnOtherRanks) {
  const Config config = RunOf(GetParam());
  Outcome whole;
  whole.sink.keep_states = true;
  ASSERT_OK(RunLearner(config, {}, &whole));
  ASSERT_EQ(whole.sink.states.size(), 6u);
  for (size_t done : {3, 4, 5}) {
    SCOPED_TRACE(done);
    Outcome rest;
    ASSERT_OK(RunLearner(config, {.ranks = 2, .from = &whole.sink.states[done - 1]}, &rest));
    ASSERT_EQ(rest.sink.records.size(), 6 - done);
    for (size_t i = 0; i < rest.sink.records.size(); ++i) {
      const auto divergence = FirstDivergence(whole.sink.records[done + i], rest.sink.records[i], {});
      ASSERT_FALSE(divergence.has_value()) << divergence->ToString();
    }
    EXPECT_EQ(rest.last_weights_R[0], whole.last_weights_R[0]);
  }
}

// ---- What the choices mean

StepRecord RunToLastRecord(const Choice& choice) {
  Outcome outcome;
  EXPECT_OK(RunLearner(RunOf(choice), {}, &outcome));
  return outcome.sink.records.back();
}

TEST(LearnerChoicesMeaningTest, PenaltiesAreSeparateRewards) {
  const StepRecord record = RunToLastRecord(
      {"", [](AlgorithmConfig& a) { a.reward.soft_punish_cache = 3, a.reward.missing_eos_penalty = 0.5; }});
  for (const EpisodeRecord& episode : record.episode_N) {
    ASSERT_EQ(episode.rewards_F.size(), 3u);
    const double excess = static_cast<double>(episode.decisions.count) - 4;  // of a limit of 7
    EXPECT_EQ(episode.rewards_F[1], excess > 0 ? -excess / 3 : 0);
    EXPECT_EQ(episode.rewards_F[2], episode.terminated ? 0 : -0.5);
    EXPECT_EQ(episode.reward, episode.rewards_F[0] + episode.rewards_F[1] + episode.rewards_F[2]);
  }
  EXPECT_LE(GetMetric(record, "rewards/soft_overlong/mean"), 0);
  EXPECT_LE(GetMetric(record, "rewards/missing_eos/mean"), 0);
}

// All rewards are 1, and so is the mean of earlier steps: both are clipped alike, so that nothing is learned from the
// second step on.
TEST(LearnerChoicesMeaningTest, ARunningMeanIsOfClippedRewards) {
  Config config = testing::SmallRun();
  config.run.steps = 2;
  SelectPreset("reinforce", &config.algorithm), config.algorithm.update.num_iterations = 1;
  config.algorithm.advantage.baseline = Baseline::kRunningMean,
  config.algorithm.advantage.reward_clip_range = {{-0.25, 0.25}};
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {.reward = [](const Completion&) { return 1.0; }}, &outcome));
  EXPECT_EQ(outcome.sink.records[3].episode_N[0].advantage, 0.25);
  EXPECT_NEAR(outcome.sink.records[4].episode_N[0].advantage, 0, 1e-15);
}

// Rewards that clipping makes equal carry no signal.
TEST(LearnerChoicesMeaningTest, DynamicSamplingLeavesOutGroupsThatClippingMakesEqual) {
  Config config = testing::SmallRun();
  config.run.steps = 1;
  config.algorithm.dynamic_sampling = true, config.algorithm.advantage.reward_clip_range = {{2, 3}};
  config.algorithm.update.num_iterations = 1;
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {}, &outcome));  // rewards are shares of correct letters: none is above 1
  EXPECT_EQ(GetMetric(outcome.sink.records.back(), "entropy"), 0);
}

// Groups of equal rewards have no gradient: dropping them only changes what the others are divided by.
TEST(LearnerChoicesMeaningTest, DynamicSamplingChangesOnlyTheAverage) {
  const auto weights_with = [](bool dynamic_sampling, const char* aggregation) {
    Config config = RunOf({"", [&](AlgorithmConfig& a) {
                             a.dynamic_sampling = dynamic_sampling,
                             SetAggregation(ParseAggregation(aggregation).value(), &a);
                           }});
    config.model.router_aux_loss_coef = 0;
    const RewardFunction reward = [](const Completion& c) {
      if (c.answer.size() == 3) return 0.5;
      int64_t sum = 0;  // some group of every step has a signal: without one there is no update
      for (const char letter : c.text) sum += letter;
      return static_cast<double>(sum % 5);
    };
    Outcome outcome;
    EXPECT_OK(RunLearner(config, {.reward = reward}, &outcome));
    return outcome.sink.records.back().weight_digests;
  };
  EXPECT_TRUE(weights_with(true, "sum") == weights_with(false, "sum"));
  EXPECT_TRUE(weights_with(true, "dapo") != weights_with(false, "dapo"));
}

TEST(LearnerChoicesMeaningTest, AnEntropyBonusIncreasesEntropy) {
  const auto entropy_with = [](double coefficient) {
    Config config = RunOf({"", [&](AlgorithmConfig& a) { a.entropy.entropy_coef = coefficient; }});
    config.run.steps = 8;
    Outcome outcome;
    EXPECT_OK(RunLearner(config, {.reward = [](const Completion& c) { return c.terminated ? 1.0 : 0.0; }}, &outcome));
    return GetMetric(outcome.sink.records.back(), "entropy");
  };
  EXPECT_GT(entropy_with(0.5), entropy_with(0) + 0.1);
}

TEST(LearnerChoicesMeaningTest, TheEntropyCoefficientDecaysToItsFloor) {
  Outcome outcome;
  ASSERT_OK(RunLearner(
      RunOf({"",
             [](AlgorithmConfig& a) { a.entropy.entropy_coef = 0.08, a.entropy.decay = 0.5, a.entropy.floor = 0.03; }}),
      {}, &outcome));
  EXPECT_EQ(GetMetric(outcome.sink.records[3], "entropy_coef"), 0.08);
  EXPECT_EQ(GetMetric(outcome.sink.records[4], "entropy_coef"), 0.04);
  EXPECT_EQ(GetMetric(outcome.sink.records[5], "entropy_coef"), 0.03);
}

// The coefficient of each step follows from the entropy of the one before it.
TEST(LearnerChoicesMeaningTest, TheAdaptiveEntropyCoefficientFollowsTheEntropy) {
  for (const double target : {0.0, 2.5, 100.0}) {
    Config config = RunOf({"", [&](AlgorithmConfig& a) {
                             a.entropy.adaptive = true, a.entropy.entropy_coef = 0.5, a.entropy.delta = 0.25;
                             a.entropy.min = 0.25, a.entropy.max = 1, a.entropy.target = target;
                           }});
    config.run.steps = 6;
    Outcome outcome;
    ASSERT_OK(RunLearner(config, {.ranks = 2}, &outcome));
    double coefficient = 0.5;
    bool is_low = true;
    for (const StepRecord& record : outcome.sink.records) {
      if (record.phase == Phase::kSft) continue;
      EXPECT_EQ(GetMetric(record, "entropy_coef"), is_low ? coefficient : 0.0) << target << ", step " << record.step;
      is_low = GetMetric(record, "entropy") <= target;
      coefficient = is_low ? std::min(coefficient + 0.25, 1.0) : std::max(coefficient - 0.25, 0.25);
    }
  }
}

TEST(LearnerChoicesMeaningTest, ALinearKlCoefficientMovesTowardsItsFinalValue) {
  Outcome outcome;
  ASSERT_OK(RunLearner(
      RunOf({"", [](AlgorithmConfig& a) { SetBeta(0.5, &a), a.kl.schedule = KlSchedule::kLinear, a.kl.final = 2; }}),
      {}, &outcome));
  EXPECT_EQ(GetMetric(outcome.sink.records[3], "kl_coef"), 0.5);
  EXPECT_EQ(GetMetric(outcome.sink.records[4], "kl_coef"), 1.0);
  EXPECT_EQ(GetMetric(outcome.sink.records[5], "kl_coef"), 1.5);
}

TEST(LearnerChoicesMeaningTest, EachMinibatchMakesAnUpdateAndTargetKlMakesFewer) {
  const auto updates_of = [](const Choice& choice) {
    Outcome outcome;
    outcome.sink.keep_states = true;
    EXPECT_OK(RunLearner(RunOf(choice), {}, &outcome));
    EXPECT_OK(outcome.status_R[0]);
    return outcome.sink.states.back().updates;
  };
  EXPECT_EQ(updates_of(kPlain), 3 * 2);
  EXPECT_EQ(updates_of({"", [](AlgorithmConfig& a) { a.update.num_mini_batches = 4; }}), 3 * 2 * 4);
  // The first update of a step is always made: the policy is still the one that sampled.
  EXPECT_EQ(updates_of({"", [](AlgorithmConfig& a) { a.update.num_mini_batches = 4, a.update.target_kl = 1e-12; }}), 3);
  EXPECT_EQ(updates_of({"", [](AlgorithmConfig& a) { a.update.num_mini_batches = 4, a.update.target_kl = 1e12; }}),
            3 * 2 * 4);
}

TEST(LearnerChoicesMeaningTest, TheDivergenceInTheRewardUsesItsEstimator) {
  for (const char* name : {"rloo", "ppo", "reinforce_plus_plus"}) {
    const auto with = [&](std::optional<KlEstimator> estimator) {
      return RunToLastRecord({"", [&](AlgorithmConfig& a) {
                                SelectPreset(name, &a), SetBeta(0.5, &a);
                                if (estimator) SetEstimator(*estimator, &a);
                              }});
    };
    const StepRecord own = with({}), k1 = with(KlEstimator::kK1), k2 = with(KlEstimator::kK2),
                     k3 = with(KlEstimator::kK3);
    EXPECT_TRUE(own.weight_digests == k1.weight_digests) << name;
    EXPECT_TRUE(k1.weight_digests != k2.weight_digests) << name;
    EXPECT_TRUE(k1.weight_digests != k3.weight_digests) << name;
    EXPECT_TRUE(k2.weight_digests != k3.weight_digests) << name;
    EXPECT_GE(GetMetric(k2, "kl"), 0);
    EXPECT_GE(GetMetric(k3, "kl"), 0);
  }
}

TEST(LearnerChoicesMeaningTest, AReferenceThatIsThePolicyHasNoDivergence) {
  const auto divergence_with = [](double alpha) {
    Config config = RunOf({"", [&](AlgorithmConfig& a) {
                             SetBeta(0.5, &a), a.reference.sync = true, a.reference.sync_steps = 1;
                             a.reference.mixup_alpha = alpha, a.update.num_iterations = 1;
                           }});
    Outcome outcome;
    EXPECT_OK(RunLearner(config, {}, &outcome));
    return GetMetric(outcome.sink.records.back(), "kl");
  };
  EXPECT_EQ(divergence_with(1), 0.0);
  EXPECT_NE(divergence_with(0.5), 0.0);
  EXPECT_NE(divergence_with(0), 0.0);
}

TEST(LearnerChoicesMeaningTest, NothingIsLearnedFromABatchThatIsMaskedEntirely) {
  Config config = RunOf({"", [](AlgorithmConfig& a) { a.mask_truncated_completions = true; }});
  config.sft.steps = 0;
  config.rollout.max_completion_length = 1;  // few completions end with their first token
  config.model.router_aux_loss_coef = 0;
  const auto cut_off = [](int, Phase, int64_t, models::Model&, Episodes& episodes) {
    for (EpisodeRecord& episode : episodes.episode_N) episode.terminated = false;
  };
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {.spoil = cut_off}, &outcome));
  for (const StepRecord& record : outcome.sink.records) EXPECT_EQ(GetMetric(record, "grad_norm"), 0.0);
}

}  // namespace
}  // namespace reprise::rl
