#include "rl/config/algorithm_check.h"

#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/load.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

// Loads [algorithm] with these settings, "clip=none", which may have any order.
absl::StatusOr<AlgorithmConfig> Load(const std::vector<std::string>& settings) {
  std::vector<std::string> overrides;
  for (const std::string& setting : settings) overrides.push_back("algorithm." + setting);
  const absl::StatusOr<ResolvedConfig> resolved = LoadConfig("", "c.toml", overrides);
  if (!resolved.ok()) return resolved.status();
  return resolved->config.algorithm;
}

AlgorithmConfig Loaded(const std::vector<std::string>& settings) {
  const absl::StatusOr<AlgorithmConfig> algorithm = Load(settings);
  EXPECT_OK(algorithm.status());
  return algorithm.ok() ? *algorithm : AlgorithmConfig();
}

std::string Message(const std::vector<std::string>& settings) {
  const absl::StatusOr<AlgorithmConfig> algorithm = Load(settings);
  EXPECT_FALSE(algorithm.ok());
  return std::string(algorithm.status().message());
}

TEST(AlgorithmSectionTest, TheDefaultIsTrlsGrpo) {
  const AlgorithmConfig grpo = Loaded({});
  EXPECT_EQ(grpo, *FindAlgorithm("grpo"));
  EXPECT_EQ(grpo, AlgorithmConfig());
  EXPECT_EQ(grpo.loss.loss_type, LossType::kDapo);
  EXPECT_EQ(grpo.advantage.scale_rewards, ScaleRewards::kGroup);
  EXPECT_EQ(grpo.loss.epsilon, 0.2);
  EXPECT_EQ(grpo.loss.epsilon_high, 0.2);
  EXPECT_EQ(Beta(grpo), 0);
}

TEST(AlgorithmSectionTest, KeysThatAreNotSetHaveThePresetsValues) {
  for (const absl::string_view name : AlgorithmNames()) {
    EXPECT_EQ(Loaded({"name=" + std::string(name)}), *FindAlgorithm(name)) << name;
  }
}

TEST(AlgorithmSectionTest, KeysThatAreSetOverrideThePresetInAnyOrder) {
  EXPECT_EQ(Loaded({"name=rloo", "beta=0"}).advantage.reward_beta, 0);
  EXPECT_EQ(Loaded({"beta=0", "name=rloo"}).advantage.reward_beta, 0);
  for (const AlgorithmConfig& dapo : {Loaded({"name=dapo", "epsilon=0.1", "epsilon_high=0", "scale_rewards=batch"}),
                                      Loaded({"scale_rewards=batch", "epsilon_high=0", "epsilon=0.1", "name=dapo"})}) {
    EXPECT_EQ(dapo.loss.epsilon, 0.1);
    EXPECT_EQ(dapo.loss.epsilon_high, 0);
    EXPECT_EQ(dapo.advantage.scale_rewards, ScaleRewards::kBatch);
  }
  EXPECT_EQ(Loaded({"clip=none", "loss_type=grpo"}), Loaded({"loss_type=grpo", "clip=none"}));
  EXPECT_EQ(Loaded({"kl_estimator=k2", "beta=0.1", "kl_in_reward=true"}).advantage.reward_kl_estimator,
            KlEstimator::kK2);
}

TEST(AlgorithmSectionTest, AnUpperClipThatThePresetDoesNotRaiseFollowsTheLowerOne) {
  EXPECT_EQ(Loaded({"epsilon=0.1"}).loss.epsilon_high, 0.1);
  EXPECT_EQ(Loaded({"name=dapo", "epsilon=0.1"}).loss.epsilon_high, 0.28);
  EXPECT_EQ(Loaded({"loss_type=cispo"}).loss.epsilon_high, 5);
}

TEST(AlgorithmSectionTest, ALossTypeBringsItsClipAndItsMean) {
  const AlgorithmConfig rloo = Loaded({"loss_type=rloo"});
  EXPECT_EQ(EffectiveClip(rloo.loss), Clip::kTwoSided);
  EXPECT_EQ(rloo.loss.importance_sampling_level, ImportanceLevel::kSequenceSum);
  EXPECT_EQ(Loaded({"clip=two_sided"}), AlgorithmConfig());  // its own
  EXPECT_EQ(Loaded({"loss_type=rloo", "clip=none"}).loss.clip, Clip::kNone);
}

// What a run stores is read back as the same algorithm, though it has all keys that are read.
TEST(AlgorithmSectionTest, StoredTextsAreReadBackAsTheSameAlgorithm) {
  for (const absl::string_view name : AlgorithmNames()) {
    for (const std::vector<std::string>& more :
         {std::vector<std::string>(), {"beta=0.3"}, {"epsilon=0.05"}, {"loss_type=grpo"}, {"gamma=0.5"}}) {
      Config config;
      std::vector<std::string> settings = {"name=" + std::string(name)};
      settings.insert(settings.end(), more.begin(), more.end());
      config.algorithm = Loaded(settings);
      ASSERT_OK_AND_ASSIGN(const ResolvedConfig stored, LoadConfig(CanonicalConfig(config), "stored", {}));
      AlgorithmConfig read = stored.config.algorithm;
      EXPECT_EQ(KlInReward(read), KlInReward(config.algorithm)) << name;
      read.kl_in_reward = config.algorithm.kl_in_reward;
      if (!more.empty() && more[0] == "gamma=0.5") read.advantage.gamma = 0.5;            // most do not read it
      if (!more.empty() && more[0] == "epsilon=0.05") read.loss = config.algorithm.loss;  // nor this
      EXPECT_EQ(read, config.algorithm) << name << (more.empty() ? "" : more[0]);
      EXPECT_EQ(CanonicalConfig(stored.config), CanonicalConfig(config));
    }
  }
}

TEST(AlgorithmSectionTest, TheEstimatorIsSetWhereTheDivergenceIs) {
  for (const std::string name : {"rloo", "ppo", "reinforce_plus_plus"}) {
    EXPECT_EQ(Estimator(Loaded({"name=" + name})), KlEstimator::kK1) << name;
    EXPECT_EQ(Loaded({"name=" + name, "kl_estimator=k2"}).advantage.reward_kl_estimator, KlEstimator::kK2) << name;
  }
  EXPECT_EQ(Estimator(Loaded({"kl_in_reward=true", "beta=0.1"})), KlEstimator::kK1);
  EXPECT_EQ(Estimator(Loaded({"name=ppo", "kl_in_reward=false"})), KlEstimator::kK3);
}

TEST(AlgorithmSectionTest, TheDivergenceIsInTheRewardOrTheLossAsRequested) {
  const AlgorithmConfig in_reward = Loaded({"beta=0.2", "kl_in_reward=true"});
  EXPECT_EQ(in_reward.advantage.reward_beta, 0.2);
  EXPECT_EQ(in_reward.loss.beta, 0);
  const AlgorithmConfig in_loss = Loaded({"name=ppo", "kl_in_reward=false"});
  EXPECT_EQ(in_loss.advantage.reward_beta, 0);
  EXPECT_EQ(in_loss.loss.beta, 0.05);
}

TEST(AlgorithmSectionTest, AnExactDivergenceIsOnlyInTheLoss) {
  const AlgorithmConfig exact = Loaded({"kl_estimator=exact", "beta=0.1"});
  EXPECT_EQ(exact.loss.kl_estimator, KlEstimator::kExact);
  EXPECT_FALSE(exact.loss.use_bias_correction_kl);
  EXPECT_THAT(Message({"kl_estimator=exact", "beta=0.1", "use_bias_correction_kl=true"}),
              HasSubstr("remove one of them"));
  for (const std::string name : {"ppo", "rloo", "reinforce_plus_plus"}) {
    EXPECT_THAT(Message({"name=" + name, "kl_estimator=exact"}),
                HasSubstr("algorithm.kl_estimator exact is added to the loss, but"))
        << name;
  }
  EXPECT_THAT(Message({"name=rloo", "kl_estimator=exact"}), HasSubstr("choose another algorithm"));
  EXPECT_THAT(Message({"name=ppo", "kl_estimator=exact"}), HasSubstr("set algorithm.kl_in_reward to false"));
  EXPECT_OK(Load({"name=ppo", "kl_estimator=exact", "kl_in_reward=false"}).status());
}

TEST(AlgorithmSectionTest, OptionsThatMayBeAbsentAreNone) {
  EXPECT_EQ(Loaded({"cliprange_value=none"}).value.cliprange_value, std::nullopt);
  EXPECT_EQ(Loaded({"delta=4"}).loss.delta, 4);
  EXPECT_EQ(Loaded({"off_policy_mask_threshold=0"}).loss.off_policy_mask_threshold, 0);
  EXPECT_EQ(Loaded({"reward_clip_range=-5 2.5"}).advantage.reward_clip_range, config::Interval(-5, 2.5));
  EXPECT_THAT(Message({"reward_clip_range=3 1"}), HasSubstr("the lower one first"));
  EXPECT_THAT(Message({"dual_clip=1"}), HasSubstr("expected more than 1, at most 1e30, or \"none\""));
}

TEST(AlgorithmSectionTest, WordsOfPairsSelectTheirMembers) {
  EXPECT_TRUE(Loaded({"value_steps=turns"}).advantage.value_of_turns);
  EXPECT_TRUE(Loaded({"reward_scaling=running"}).advantage.scales_by_running_deviation);
  EXPECT_TRUE(Loaded({"name=episode_rloo", "baseline_scope=batch"}).advantage.baseline_over_batch);
  EXPECT_TRUE(Loaded({"turn_rewards=turn"}).reward.by_turn);
  EXPECT_EQ(Loaded({"minibatches_of=decisions"}).update.unit, MinibatchUnit::kDecision);
  EXPECT_EQ(Loaded({"target_kl_of=iterations"}).update.target_kl_of, EarlyStop::kIteration);
  EXPECT_EQ(Loaded({"baseline=step_none"}).advantage.baseline, Baseline::kStepNone);
  EXPECT_EQ(Loaded({"importance_correction=sequence_mask"}).correction.mode, ImportanceMode::kSequenceMask);
  EXPECT_EQ(Loaded({"aggregation=turn_mean"}).loss.aggregation, Aggregation::kTurnMean);
  EXPECT_EQ(Loaded({"clip=regression"}).loss.clip, Clip::kRegression);
  EXPECT_EQ(Loaded({"importance_sampling_level=sequence"}).loss.importance_sampling_level, ImportanceLevel::kSequence);
  EXPECT_EQ(Loaded({"multi_objective_aggregation=normalize_then_sum"}).advantage.multi_objective_aggregation,
            RewardAggregation::kNormalizeThenSum);
}

TEST(ValueModelTest, IsThatOfTheBaseline) {
  EXPECT_EQ(ChooseValueModel(AlgorithmConfig()), models::ValueModel::kNone);
  EXPECT_EQ(ChooseValueModel(Loaded({"name=ppo"})), models::ValueModel::kHead);
  EXPECT_EQ(ChooseValueModel(Loaded({"name=ppo", "value_model=network"})), models::ValueModel::kNetwork);
}

TEST(CheckAlgorithmTest, RejectsOptionsThatCannotBeCombined) {
  EXPECT_THAT(Message({"name=rloo", "kl_in_reward=false"}), HasSubstr("loss_type rloo"));
  EXPECT_THAT(Message({"importance_correction=token_mask", "importance_clip_min=4"}), HasSubstr("clip_min"));
  EXPECT_THAT(Message({"multi_objective_aggregation=normalize_then_sum", "baseline=none"}),
              HasSubstr("it needs group_mean"));
  EXPECT_THAT(Message({"reward_weights=1 2"}), HasSubstr("reward_weights"));
  for (const std::string name : {"reinforce_plus_plus", "reinforce_plus_plus_baseline", "ppo", "agemem"}) {
    EXPECT_THAT(Load({"name=" + name, "loss_type=rloo", "beta=0"}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one term per sequence")))
        << name;
  }
}

TEST(CheckAlgorithmTest, AWeightThatAScheduleRaisesIsCheckedToo) {
  const std::vector<std::string> base = {"name=reinforce_plus_plus_baseline", "whiten_tokens=false",
                                         "kl_schedule=linear"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), base.begin(), base.end());
    return more;
  };
  EXPECT_OK(Load(with({"loss_type=grpo", "baseline=leave_one_out"})).status());
  EXPECT_THAT(Message(with({"loss_type=rloo", "baseline=group_mean", "beta=0"})),
              HasSubstr("set algorithm.baseline to leave_one_out"));
}

TEST(CheckAlgorithmTest, RejectsADivergenceThatWouldNotBeSubtractedFromTheReward) {
  EXPECT_OK(Load({"loss_type=rloo"}).status());
  EXPECT_EQ(Message({"loss_type=rloo", "beta=0.1"}),
            "algorithm.beta 0.1 with algorithm.loss_type rloo is subtracted from the reward, which needs "
            "algorithm.baseline leave_one_out and not with group_mean: set algorithm.baseline to leave_one_out, or "
            "algorithm.beta to 0");
  EXPECT_THAT(Message({"name=rloo", "baseline=value"}), HasSubstr("and not with value: set algorithm.baseline"));
}

}  // namespace
}  // namespace reprise::rl
