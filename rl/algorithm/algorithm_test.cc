#include "rl/algorithm/algorithm.h"

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

TEST(AlgorithmTest, EveryRowHasAValidLossItsNameAndASource) {
  std::set<absl::string_view> seen;
  for (const AlgorithmPreset& preset : AlgorithmPresets()) {
    const std::string& name = preset.algorithm.name;
    EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_FALSE(preset.source.empty());
    EXPECT_OK(ValidateAlgorithm(preset.algorithm)) << name;
  }
  for (absl::string_view name : {"grpo",
                                 "dr_grpo",
                                 "dapo",
                                 "bnpo",
                                 "gspo",
                                 "cispo",
                                 "sapo",
                                 "luspo",
                                 "vespo",
                                 "rloo",
                                 "episode_rloo",
                                 "reinforce",
                                 "reinforce_plus_plus",
                                 "reinforce_plus_plus_baseline",
                                 "ppo",
                                 "remax",
                                 "opo",
                                 "gmpo",
                                 "a2po",
                                 "agemem"}) {
    EXPECT_EQ(seen.count(name), 1u) << name;
  }
}

TEST(AlgorithmTest, RowsDifferInWhatTheirPapersChanged) {
  ASSERT_OK_AND_ASSIGN(const AlgorithmConfig grpo, FindAlgorithm("grpo"));
  EXPECT_EQ(grpo.advantage.scale_rewards, ScaleRewards::kGroup);
  EXPECT_EQ(grpo.loss.loss_type, LossType::kDapo);
  EXPECT_EQ(grpo.loss.epsilon_high, 0.2);
  ASSERT_OK_AND_ASSIGN(const AlgorithmConfig dapo, FindAlgorithm("dapo"));
  EXPECT_EQ(dapo.loss.epsilon_high, 0.28);
  ASSERT_OK_AND_ASSIGN(const AlgorithmConfig dr_grpo, FindAlgorithm("dr_grpo"));
  EXPECT_EQ(dr_grpo.advantage.scale_rewards, ScaleRewards::kNone);
  ASSERT_OK_AND_ASSIGN(const AlgorithmConfig luspo, FindAlgorithm("luspo"));
  EXPECT_EQ(luspo.loss.epsilon, 2e-3);
  EXPECT_EQ(luspo.loss.epsilon_high, 2.5e-3);
  ASSERT_OK_AND_ASSIGN(const AlgorithmConfig rloo, FindAlgorithm("rloo"));
  EXPECT_EQ(rloo.advantage.baseline, Baseline::kLeaveOneOut);
  ASSERT_OK_AND_ASSIGN(const AlgorithmConfig agemem, FindAlgorithm("agemem"));
  EXPECT_EQ(agemem.advantage.baseline, Baseline::kStepGroupMean);
  EXPECT_EQ(agemem.advantage.scale_rewards, ScaleRewards::kNone);
  EXPECT_EQ(agemem.advantage.gamma, 0);
  EXPECT_EQ(agemem.loss.epsilon, 0.2);
  EXPECT_EQ(agemem.loss.beta, 0.1);
  EXPECT_EQ(agemem.loss.kl_estimator, KlEstimator::kExact);
  EXPECT_EQ(agemem.update.num_iterations, 4);
}

TEST(AlgorithmTest, RejectsTokenAdvantagesForOneTermPerSequence) {
  ASSERT_OK_AND_ASSIGN(AlgorithmConfig ppo, FindAlgorithm("ppo"));
  SetLossType(LossType::kRloo, &ppo);
  EXPECT_THAT(ValidateAlgorithm(ppo), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("baseline value")));
}

TEST(AlgorithmTest, RejectsTokenAdvantagesForATermOfAllTokens) {
  for (const Clip clip : {Clip::kGmpo, Clip::kRegression}) {
    for (const auto& [name, baseline] : {std::pair("ppo", "value"), {"agemem", "step_group_mean"}}) {
      ASSERT_OK_AND_ASSIGN(AlgorithmConfig row, FindAlgorithm(name));
      SetClip(clip, &row);
      EXPECT_THAT(ValidateAlgorithm(row),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr(std::string("has one term per sequence, but baseline ") + baseline)));
    }
  }
}

TEST(AlgorithmTest, RejectsMinibatchesOfDecisionsForWhatNeedsWholeCompletions) {
  const auto message = [](absl::string_view name, const std::function<void(AlgorithmConfig&)>& choose) {
    AlgorithmConfig row = *FindAlgorithm(name);
    row.update.unit = MinibatchUnit::kDecision;
    choose(row);
    return std::string(ValidateAlgorithm(row).message());
  };
  const auto as_it_is = [](AlgorithmConfig&) {};
  for (const auto& [name, key] : {std::pair("rloo", "loss_type rloo"),
                                  {"gmpo", "clip gmpo"},
                                  {"a2po", "clip regression"},
                                  {"vespo", "clip vespo"},
                                  {"gspo", "importance_sampling_level sequence"}}) {
    EXPECT_THAT(message(name, as_it_is),
                HasSubstr(std::string("minibatches_of decisions cannot be combined with ") + key + ", which needs"));
  }
  EXPECT_THAT(message("grpo", [](AlgorithmConfig& row) { row.loss.off_policy_mask_threshold = 0.5; }),
              HasSubstr("off_policy_mask_threshold 0.5"));
  EXPECT_EQ(message("grpo",
                    [](AlgorithmConfig& row) {
                      row.loss.top_entropy_quantile = 0.5, row.dynamic_sampling = row.mask_truncated_completions = true;
                      row.correction.mode = ImportanceMode::kSequenceMask, row.update.target_kl = 0.1;
                    }),
            "");
  for (const char* name : {"ppo", "agemem", "cispo", "sapo", "reinforce_plus_plus"}) {
    EXPECT_EQ(message(name, as_it_is), "") << name;
  }
}

TEST(AlgorithmTest, SuggestsTheNearestName) {
  EXPECT_THAT(FindAlgorithm("grop"), StatusIs(absl::StatusCode::kInvalidArgument,
                                              HasSubstr("unknown algorithm \"grop\"; did you mean \"grpo\"?")));
}

TEST(SetBetaTest, SetsTheDivergenceInTheRewardOrTheLossAsTheRowHasIt) {
  ASSERT_OK_AND_ASSIGN(AlgorithmConfig grpo, FindAlgorithm("grpo"));
  SetBeta(0.04, &grpo);
  EXPECT_EQ(grpo.loss.beta, 0.04);
  EXPECT_EQ(grpo.advantage.reward_beta, 0.0);
  EXPECT_EQ(Beta(grpo), 0.04);
  ASSERT_OK_AND_ASSIGN(AlgorithmConfig rloo, FindAlgorithm("rloo"));
  SetBeta(0.1, &rloo);
  EXPECT_EQ(rloo.loss.beta, 0.0);
  EXPECT_EQ(rloo.advantage.reward_beta, 0.1);
  ASSERT_OK_AND_ASSIGN(AlgorithmConfig ppo, FindAlgorithm("ppo"));
  EXPECT_EQ(Beta(ppo), 0.05);
  SetBeta(0.2, &ppo);
  EXPECT_EQ(ppo.loss.beta, 0.0);
  EXPECT_EQ(ppo.advantage.reward_beta, 0.2);
}

TEST(SetClipTest, SetsAndResetsCisposCap) {
  ASSERT_OK_AND_ASSIGN(AlgorithmConfig grpo, FindAlgorithm("grpo"));
  SetClip(Clip::kCispo, &grpo);
  EXPECT_EQ(grpo.loss.epsilon_high, 5.0);
  SetClip(Clip::kCispo, &grpo);
  EXPECT_EQ(grpo.loss.epsilon_high, 5.0);
  SetClip(Clip::kNone, &grpo);
  EXPECT_EQ(grpo.loss.epsilon_high, grpo.loss.epsilon);
}

TEST(SetLossTypeTest, SetsItsOwnClipAndAggregation) {
  ASSERT_OK_AND_ASSIGN(AlgorithmConfig reinforce, FindAlgorithm("reinforce"));
  SetLossType(LossType::kLuspo, &reinforce);  // its own
  EXPECT_EQ(EffectiveClip(reinforce.loss), Clip::kReinforce);
  SetLossType(LossType::kDapo, &reinforce);
  EXPECT_EQ(EffectiveClip(reinforce.loss), Clip::kTwoSided);
  EXPECT_EQ(EffectiveAggregation(reinforce.loss), Aggregation::kDapo);
}

TEST(SetLossTypeTest, LeavesEveryRowValidWithEveryLossType) {
  for (absl::string_view name : AlgorithmNames()) {
    for (int i = 0; i <= static_cast<int>(LossType::kRloo); ++i) {
      ASSERT_OK_AND_ASSIGN(AlgorithmConfig row, FindAlgorithm(name));
      SetBeta(0.05, &row);
      SetLossType(static_cast<LossType>(i), &row);
      EXPECT_OK(ValidateLossOptions(row.loss)) << name << " with " << LossTypeName(row.loss.loss_type);
      EXPECT_EQ(Beta(row), 0.05);
      EXPECT_EQ(row.loss.loss_type == LossType::kCispo, row.loss.epsilon_high > 1.0);
    }
  }
}

}  // namespace
}  // namespace reprise::rl
