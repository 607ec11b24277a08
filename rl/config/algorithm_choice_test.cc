#include "rl/config/algorithm_choice.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;

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

TEST(AlgorithmChoiceTest, KeysThatAreSetAreStronger) {
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

TEST(AlgorithmChoiceTest, FillingChangesNoChoice) {
  for (absl::string_view name : AlgorithmNames()) {
    for (absl::string_view loss_type : LossTypeNames()) {
      AlgorithmConfig algorithm = Named(std::string(name));
      algorithm.loss_type = std::string(loss_type);
      if (loss_type == "rloo" && name != "rloo") algorithm.beta = 0;
      ASSERT_OK_AND_ASSIGN(const AlgorithmRow row, AlgorithmOf(algorithm));
      ASSERT_OK_AND_ASSIGN(const AlgorithmRow filled, AlgorithmOf(Filled(algorithm)));
      EXPECT_EQ(filled.loss.loss_type, row.loss.loss_type);
      EXPECT_EQ(filled.loss.importance_sampling_level, row.loss.importance_sampling_level);
      EXPECT_EQ(filled.loss.epsilon, row.loss.epsilon);
      EXPECT_EQ(filled.loss.epsilon_high, row.loss.epsilon_high);
      EXPECT_EQ(filled.loss.beta, row.loss.beta);
      EXPECT_EQ(filled.advantage.scale_rewards, row.advantage.scale_rewards);
      EXPECT_EQ(filled.advantage.reward_beta, row.advantage.reward_beta);
      ASSERT_OK_AND_ASSIGN(const std::vector<std::string> again, [&] {
        AlgorithmConfig twice = Filled(algorithm);
        return FillAlgorithm(&twice);
      }());
      EXPECT_TRUE(again.empty());
    }
  }
}

TEST(AlgorithmChoiceTest, RefusesADivergenceThatNothingWouldTakeFromTheReward) {
  AlgorithmConfig algorithm;
  algorithm.loss_type = "rloo";
  EXPECT_OK(AlgorithmOf(algorithm));
  algorithm.beta = 0.1;
  EXPECT_THAT(
      AlgorithmOf(algorithm),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "algorithm.beta 0.1 with algorithm.loss_type rloo is taken from the reward, which algorithm.name "
               "grpo does not do: set algorithm.name to rloo, or algorithm.beta to 0"));
}

}  // namespace
}  // namespace reprise::rl
