#include "rl/config/algorithm_choice.h"

#include <functional>

#include "absl/strings/match.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

AlgorithmConfig Named(const std::string& name) {
  AlgorithmConfig algorithm;
  algorithm.name = name;
  return algorithm;
}

AlgorithmConfig Filled(AlgorithmConfig algorithm) {
  EXPECT_OK(FillAlgorithm(&algorithm));
  return algorithm;
}

TEST(AlgorithmChoiceTest, TheDefaultIsTrlsGrpo) {
  const AlgorithmConfig grpo = Filled({});
  EXPECT_EQ(grpo.loss_type, "dapo");
  EXPECT_EQ(grpo.scale_rewards, "group");
  EXPECT_EQ(grpo.epsilon, 0.2);
  EXPECT_EQ(grpo.epsilon_high, 0.2);
  EXPECT_EQ(grpo.beta, 0);
}

TEST(AlgorithmChoiceTest, KeysThatAreNotSetTakeTheRowsValues) {
  const AlgorithmConfig dr_grpo = Filled(Named("dr_grpo"));
  EXPECT_EQ(dr_grpo.loss_type, "dr_grpo");
  EXPECT_EQ(dr_grpo.scale_rewards, "none");
  const AlgorithmConfig gspo = Filled(Named("gspo"));
  EXPECT_EQ(gspo.loss_type, "grpo");
  EXPECT_EQ(gspo.epsilon, 3e-4);
  EXPECT_EQ(gspo.epsilon_high, 4e-4);
  EXPECT_EQ(Filled(Named("dapo")).epsilon_high, 0.28);
  EXPECT_EQ(Filled(Named("cispo")).epsilon_high, 5);
  EXPECT_EQ(Filled(Named("rloo")).beta, 0.05);
}

TEST(AlgorithmChoiceTest, KeysThatAreSetOverrideTheRow) {
  AlgorithmConfig rloo = Named("rloo");
  rloo.beta = 0;
  ASSERT_OK_AND_ASSIGN(const AlgorithmRow row, AlgorithmOf(rloo));
  EXPECT_EQ(row.advantage.reward_beta, 0);
  AlgorithmConfig dapo = Named("dapo");
  dapo.epsilon = 0.1, dapo.epsilon_high = 0, dapo.scale_rewards = "batch", dapo.advantage_epsilon = 0.5;
  ASSERT_OK_AND_ASSIGN(const AlgorithmRow changed, AlgorithmOf(dapo));
  EXPECT_EQ(changed.loss.epsilon, 0.1);
  EXPECT_EQ(changed.loss.epsilon_high, 0);
  EXPECT_EQ(changed.advantage.scale_rewards, ScaleRewards::kBatch);
  EXPECT_EQ(changed.advantage.advantage_epsilon, 0.5);
}

TEST(AlgorithmChoiceTest, AnUpperClipThatTheRowDoesNotRaiseFollowsTheLowerOne) {
  AlgorithmConfig grpo, dapo = Named("dapo"), cispo;
  grpo.epsilon = dapo.epsilon = 0.1;
  EXPECT_EQ(Filled(grpo).epsilon_high, 0.1);
  EXPECT_EQ(Filled(dapo).epsilon_high, 0.28);
  cispo.loss_type = "cispo";
  EXPECT_EQ(Filled(cispo).epsilon_high, 5);
}

TEST(AlgorithmChoiceTest, FillingDoesNotChangeTheAlgorithm) {
  for (absl::string_view name : AlgorithmNames()) {
    for (absl::string_view loss_type : LossTypeNames()) {
      AlgorithmConfig algorithm = Named(std::string(name));
      algorithm.loss_type = std::string(loss_type);
      if (loss_type == "rloo" && name != "rloo") algorithm.beta = 0;
      const bool by_token = absl::StartsWith(name, "reinforce_plus_plus") || name == "ppo" || name == "agemem";
      if (loss_type == "rloo" && by_token) {  // an advantage for each token
        EXPECT_THAT(AlgorithmOf(algorithm),
                    StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one term per sequence")));
        continue;
      }
      ASSERT_OK_AND_ASSIGN(const AlgorithmRow row, AlgorithmOf(algorithm));
      ASSERT_OK_AND_ASSIGN(const AlgorithmRow filled, AlgorithmOf(Filled(algorithm)));
      EXPECT_EQ(filled.loss.loss_type, row.loss.loss_type);
      EXPECT_EQ(filled.loss.importance_sampling_level, row.loss.importance_sampling_level);
      EXPECT_EQ(filled.loss.epsilon, row.loss.epsilon);
      EXPECT_EQ(filled.loss.epsilon_high, row.loss.epsilon_high);
      EXPECT_EQ(filled.loss.beta, row.loss.beta);
      EXPECT_EQ(filled.advantage.scale_rewards, row.advantage.scale_rewards);
      EXPECT_EQ(filled.advantage.reward_beta, row.advantage.reward_beta);
      EXPECT_EQ(filled.advantage.baseline, row.advantage.baseline);
      EXPECT_EQ(filled.advantage.whiten_tokens, row.advantage.whiten_tokens);
      EXPECT_EQ(filled.advantage.gamma, row.advantage.gamma);
      EXPECT_EQ(EffectiveClip(filled.loss), EffectiveClip(row.loss));
      EXPECT_EQ(EffectiveAggregation(filled.loss), EffectiveAggregation(row.loss));
      EXPECT_EQ(filled.loss.kl_estimator, row.loss.kl_estimator);
      EXPECT_EQ(filled.loss.use_bias_correction_kl, row.loss.use_bias_correction_kl);
      ASSERT_OK_AND_ASSIGN(const std::vector<std::string> again, [&] {
        AlgorithmConfig twice = Filled(algorithm);
        return FillAlgorithm(&twice);
      }());
      EXPECT_TRUE(again.empty());
    }
  }
}

TEST(AlgorithmChoiceTest, AnExactDivergenceIsOnlyInTheLoss) {
  AlgorithmConfig exact;
  exact.kl_estimator = "exact", exact.beta = 0.1;
  ASSERT_OK_AND_ASSIGN(const AlgorithmRow row, AlgorithmOf(exact));
  EXPECT_EQ(row.loss.kl_estimator, KlEstimator::kExact);
  EXPECT_FALSE(row.loss.use_bias_correction_kl);
  EXPECT_OK(AlgorithmOf(Filled(exact)));
  AlgorithmConfig biased = exact;
  biased.use_bias_correction_kl = "on";
  EXPECT_THAT(AlgorithmOf(biased), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("remove one of them")));
  for (const char* name : {"ppo", "rloo", "reinforce_plus_plus"}) {
    exact.name = name;
    EXPECT_THAT(AlgorithmOf(exact), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("algorithm.kl_estimator exact is added to the loss, but")))
        << name;
  }
  exact.name = "rloo";
  EXPECT_THAT(AlgorithmOf(exact).status().message(), HasSubstr("choose another algorithm"));
  exact.name = "ppo";
  EXPECT_THAT(AlgorithmOf(exact).status().message(), HasSubstr("set algorithm.kl_in_reward to off"));
  exact.kl_in_reward = "off";
  EXPECT_OK(AlgorithmOf(exact));
}

TEST(AlgorithmChoiceTest, EveryChoiceCanBeOverridden) {
  AlgorithmConfig algorithm;
  algorithm.baseline = "length_weighted", algorithm.clip = "cispo", algorithm.aggregation = "sequence_mean";
  algorithm.importance_sampling_level = "sequence", algorithm.kl_estimator = "k2", algorithm.ddof = 0;
  algorithm.use_bias_correction_kl = "off", algorithm.dual_clip = 3, algorithm.delta = 4;
  algorithm.off_policy_mask_threshold = 0, algorithm.top_entropy_quantile = 0.2, algorithm.entropy.entropy_coef = 0.01;
  algorithm.num_mini_batches = 4, algorithm.target_kl = 0.02, algorithm.num_iterations = 3;
  ASSERT_OK_AND_ASSIGN(const AlgorithmRow row, AlgorithmOf(algorithm));
  EXPECT_EQ(row.advantage.baseline, Baseline::kLengthWeighted);
  EXPECT_EQ(row.advantage.ddof, 0);
  EXPECT_EQ(row.loss.clip, Clip::kCispo);
  EXPECT_EQ(row.loss.epsilon_high, 5);
  EXPECT_EQ(row.loss.aggregation, Aggregation::kSequenceMean);
  EXPECT_EQ(row.loss.importance_sampling_level, ImportanceLevel::kSequence);
  EXPECT_EQ(row.loss.kl_estimator, KlEstimator::kK2);
  EXPECT_FALSE(row.loss.use_bias_correction_kl);
  EXPECT_EQ(row.loss.dual_clip, 3);
  EXPECT_EQ(row.loss.delta, 4);
  EXPECT_EQ(row.loss.off_policy_mask_threshold, 0);
  EXPECT_EQ(row.loss.top_entropy_quantile, 0.2);
  EXPECT_EQ(row.loss.entropy_coef, 0.01);
  EXPECT_EQ(row.update.num_iterations, 3);
  EXPECT_EQ(row.update.num_mini_batches, 4);
  EXPECT_EQ(row.update.target_kl, 0.02);
}

TEST(AlgorithmChoiceTest, TheEstimatorIsSetWhereTheDivergenceIs) {
  for (const char* name : {"rloo", "ppo", "reinforce_plus_plus"}) {
    AlgorithmConfig own = Named(name), k2 = own;
    EXPECT_EQ(Filled(own).kl_estimator, "k1") << name;
    EXPECT_EQ(AlgorithmOf(own)->advantage.reward_kl_estimator, KlEstimator::kK1);
    k2.kl_estimator = "k2";
    EXPECT_EQ(AlgorithmOf(k2)->advantage.reward_kl_estimator, KlEstimator::kK2);
  }
  AlgorithmConfig moved;
  moved.kl_in_reward = "on", moved.beta = 0.1;
  EXPECT_EQ(Filled(moved).kl_estimator, "k1");
  moved = Named("ppo"), moved.kl_in_reward = "off";
  EXPECT_EQ(Filled(moved).kl_estimator, "k3");
}

TEST(AlgorithmChoiceTest, KeysOfValuesClipsAndCorrectionsReachTheRow) {
  AlgorithmConfig ppo = Named("ppo");
  ASSERT_OK_AND_ASSIGN(const AlgorithmRow own, AlgorithmOf(ppo));
  EXPECT_EQ(own.update.num_iterations, 4);
  EXPECT_EQ(own.advantage.lambda, 0.95);
  EXPECT_EQ(own.value.vf_coef, 0.1);
  EXPECT_EQ(own.value.cliprange_value, 0.2);
  EXPECT_EQ(*ValueModelOf(ppo), models::ValueModel::kHead);
  ppo.num_iterations = 1, ppo.lam = 0.5, ppo.vf_coef = 2, ppo.cliprange_value = 0, ppo.whiten_rewards = true;
  ppo.bootstrap_truncated = false;
  ppo.value_model = "network", ppo.reward_clip_range = "-5 2.5", ppo.lone_sample_keeps_reward = true;
  ppo.sapo_temperature_pos = 3, ppo.vespo.lambda_neg = 4;
  ppo.importance_correction = "sequence_mask", ppo.importance_clip_max = 2, ppo.importance_clip_min = 0.5;
  ASSERT_OK_AND_ASSIGN(const AlgorithmRow row, AlgorithmOf(ppo));
  EXPECT_EQ(row.update.num_iterations, 1);
  EXPECT_EQ(row.advantage.lambda, 0.5);
  EXPECT_TRUE(row.advantage.whiten_rewards);
  EXPECT_FALSE(row.advantage.bootstrap_truncated);
  EXPECT_TRUE(row.advantage.lone_sample_keeps_reward);
  EXPECT_EQ(row.advantage.reward_clip_range, std::make_pair(-5.0, 2.5));
  EXPECT_EQ(row.value.vf_coef, 2);
  EXPECT_EQ(row.value.cliprange_value, std::nullopt);
  EXPECT_EQ(row.loss.sapo_temperature_pos, 3);
  EXPECT_EQ(row.loss.vespo.lambda_neg, 4);
  EXPECT_EQ(row.correction.mode, ImportanceMode::kSequenceMask);
  EXPECT_EQ(row.correction.clip_max, 2);
  EXPECT_EQ(row.correction.clip_min, 0.5);
  EXPECT_EQ(*ValueModelOf(ppo), models::ValueModel::kNetwork);
  EXPECT_EQ(*ValueModelOf(AlgorithmConfig()), models::ValueModel::kNone);
}

TEST(AlgorithmChoiceTest, StepsOfValuesScalesAndMinibatchesReachTheRow) {
  AlgorithmConfig ppo = Named("ppo");
  ASSERT_OK_AND_ASSIGN(const AlgorithmRow own, AlgorithmOf(ppo));
  EXPECT_FALSE(own.advantage.value_of_turns);
  EXPECT_FALSE(own.advantage.scales_by_running_deviation);
  EXPECT_EQ(own.update.unit, MinibatchUnit::kGroup);
  EXPECT_EQ(own.update.target_kl_of, EarlyStop::kMinibatch);
  ppo.value_steps = "turns", ppo.reward_scaling = "running", ppo.minibatches_of = "episodes";
  ppo.target_kl_of = "iterations";
  ASSERT_OK_AND_ASSIGN(const AlgorithmRow row, AlgorithmOf(ppo));
  EXPECT_TRUE(row.advantage.value_of_turns);
  EXPECT_TRUE(row.advantage.scales_by_running_deviation);
  EXPECT_EQ(row.update.unit, MinibatchUnit::kEpisode);
  EXPECT_EQ(row.update.target_kl_of, EarlyStop::kIteration);
  ppo.minibatches_of = "decisions";
  ASSERT_OK_AND_ASSIGN(const AlgorithmRow decisions, AlgorithmOf(ppo));
  EXPECT_EQ(decisions.update.unit, MinibatchUnit::kDecision);
}

TEST(AlgorithmChoiceTest, TheKeysThatWereFilledAreNamed) {
  const auto filled = [](AlgorithmConfig algorithm) {
    const absl::StatusOr<std::vector<std::string>> names = FillAlgorithm(&algorithm);
    EXPECT_OK(names.status());
    return names.value_or(std::vector<std::string>());
  };
  AlgorithmConfig ppo = Named("ppo");
  ppo.beta = 0.1;
  EXPECT_THAT(filled(ppo),
              ElementsAre("algorithm.loss_type", "algorithm.epsilon", "algorithm.epsilon_high", "algorithm.gamma",
                          "algorithm.num_iterations", "algorithm.baseline", "algorithm.whiten_tokens", "algorithm.clip",
                          "algorithm.aggregation", "algorithm.importance_sampling_level", "algorithm.kl_estimator",
                          "algorithm.kl_in_reward"));
  AlgorithmConfig grpo = Named("grpo");
  grpo.kl = {.schedule = KlSchedule::kLinear, .final = 0.1};
  EXPECT_THAT(filled(grpo), AllOf(Contains("algorithm.scale_rewards"), Contains("algorithm.beta"),
                                  Contains("algorithm.use_bias_correction_kl"), Not(Contains("algorithm.gamma"))));
}

TEST(AlgorithmChoiceTest, TheDivergenceIsInTheRewardOrTheLossAsRequested) {
  AlgorithmConfig grpo, ppo = Named("ppo");
  grpo.beta = 0.2, grpo.kl_in_reward = "on", ppo.kl_in_reward = "off";
  ASSERT_OK_AND_ASSIGN(const AlgorithmRow in_reward, AlgorithmOf(grpo));
  EXPECT_EQ(in_reward.advantage.reward_beta, 0.2);
  EXPECT_EQ(in_reward.loss.beta, 0);
  ASSERT_OK_AND_ASSIGN(const AlgorithmRow in_loss, AlgorithmOf(ppo));
  EXPECT_EQ(in_loss.advantage.reward_beta, 0);
  EXPECT_EQ(in_loss.loss.beta, 0.05);
  EXPECT_EQ(Filled(Named("ppo")).kl_in_reward, "on");
}

TEST(AlgorithmChoiceTest, RejectsImpossibleOptions) {
  const auto message = [](const std::function<void(AlgorithmConfig&)>& choose) {
    AlgorithmConfig algorithm;
    choose(algorithm);
    return std::string(AlgorithmOf(algorithm).status().message());
  };
  EXPECT_THAT(message([](AlgorithmConfig& a) { a.name = "rloo", a.kl_in_reward = "off"; }),
              HasSubstr("loss_type rloo"));
  EXPECT_THAT(message([](AlgorithmConfig& a) { a.reward_clip_range = "3 1"; }), HasSubstr("the lower one first"));
  EXPECT_THAT(message([](AlgorithmConfig& a) { a.reward_clip_range = "3"; }), HasSubstr("expected two numbers"));
  EXPECT_THAT(message([](AlgorithmConfig& a) { a.importance_correction = "token_mask", a.importance_clip_min = 4; }),
              HasSubstr("clip_min"));
}

TEST(AlgorithmChoiceTest, ADiscountIsTheAlgorithmsOwnUnlessItIsSet) {
  AlgorithmConfig agemem = Named("agemem");
  EXPECT_EQ(Filled(agemem).gamma, 0);
  agemem.gamma = 1;
  EXPECT_EQ(AlgorithmOf(agemem)->advantage.gamma, 1);
}

TEST(AlgorithmChoiceTest, RejectsOptionsThatCannotBeCombined) {
  AlgorithmConfig both;
  both.multi_objective_aggregation = "normalize_then_sum", both.baseline = "none";
  EXPECT_THAT(AlgorithmOf(both), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("it needs group_mean")));
  AlgorithmConfig later = Named("reinforce_plus_plus_baseline");
  later.loss_type = "grpo", later.baseline = "leave_one_out", later.whiten_tokens = "off",
  later.kl.schedule = KlSchedule::kLinear;
  EXPECT_OK(AlgorithmOf(later));
  later.loss_type = "rloo", later.baseline = "group_mean", later.beta = 0;
  EXPECT_THAT(AlgorithmOf(later),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("set algorithm.baseline to leave_one_out")));
  AlgorithmConfig weights;
  weights.reward_weights = "1 2";
  EXPECT_THAT(AlgorithmOf(weights), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("reward_weights")));
}

TEST(AlgorithmChoiceTest, RejectsADivergenceThatWouldNotBeSubtractedFromTheReward) {
  AlgorithmConfig algorithm;
  algorithm.loss_type = "rloo";
  EXPECT_OK(AlgorithmOf(algorithm));
  algorithm.beta = 0.1;
  EXPECT_THAT(
      AlgorithmOf(algorithm),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "algorithm.beta 0.1 with algorithm.loss_type rloo is subtracted from the reward, which needs "
               "algorithm.baseline leave_one_out and not with group_mean: set algorithm.baseline to leave_one_out, or "
               "algorithm.beta to 0"));
  algorithm = Named("rloo");
  algorithm.baseline = "value";
  EXPECT_THAT(AlgorithmOf(algorithm),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("and not with value: set algorithm.baseline")));
}

}  // namespace
}  // namespace reprise::rl
