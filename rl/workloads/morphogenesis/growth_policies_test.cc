#include "rl/workloads/morphogenesis/growth_policies.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using models::Stage;

GrowthActions CnnActions() { return GrowthActions({"norm", "attention", "depthwise", "conv_light", "conv_heavy"}); }

TrainingSignals Ready() { return {.epoch = 5, .plateau_epochs = 4, .is_stabilized = true}; }

GrowthReport With(const SeedReport& seed) { return {.seed = seed}; }

std::string ActionName(const GrowthActions& actions, const HeuristicDecision& decision) {
  return actions.ActionName(actions.ActionNumber(decision.action));
}

TEST(HeuristicControllerTest, GerminatesInTurnWhenTheHostIsStableOnAPlateau) {
  const GrowthActions actions = CnnActions();
  HeuristicController controller(actions);
  std::vector<std::string> names;
  for (int i = 0; i < 6; ++i) names.push_back(ActionName(actions, controller.Decide(Ready(), {})));
  EXPECT_EQ(names, (std::vector<std::string>{"GERMINATE_CONV_LIGHT", "GERMINATE_CONV_HEAVY", "GERMINATE_ATTENTION",
                                             "GERMINATE_NORM", "GERMINATE_DEPTHWISE", "GERMINATE_CONV_LIGHT"}));
  EXPECT_EQ(HeuristicController(actions).Decide(Ready(), {}).confidence, 0.8);
}

TEST(HeuristicControllerTest, WaitsForAStableHostAPlateauAndEpochFive) {
  const GrowthActions actions = CnnActions();
  const auto decide = [&](const TrainingSignals& signals) {
    return ActionName(actions, HeuristicController(actions).Decide(signals, {}));
  };
  TrainingSignals signals = Ready();
  signals.epoch = 4;
  EXPECT_EQ(decide(signals), "WAIT");
  signals = Ready();
  signals.plateau_epochs = 2;
  EXPECT_EQ(decide(signals), "WAIT");
  signals = Ready();
  signals.is_stabilized = false;
  EXPECT_EQ(decide(signals), "WAIT");
}

TEST(HeuristicControllerTest, CullsAFailingSeedAndJudgesInProbation) {
  const GrowthActions actions = CnnActions();
  const auto decide = [&](const SeedReport& seed) {
    return ActionName(actions, HeuristicController(actions).Decide(Ready(), With(seed)));
  };
  SeedReport seed = {.stage = Stage::kTraining, .epochs_in_stage = 5, .age = 12, .stage_improvement = -2.5};
  EXPECT_EQ(decide(seed), "CULL");
  seed.epochs_in_stage = 4;
  EXPECT_EQ(decide(seed), "WAIT");
  seed.epochs_in_stage = 5;
  seed.stage_improvement = -2;
  EXPECT_EQ(decide(seed), "WAIT");
  seed = {.stage = Stage::kProbationary, .age = 12, .total_improvement = -1, .counterfactual = 2};
  EXPECT_EQ(decide(seed), "FOSSILIZE");
  seed.counterfactual = -2;
  EXPECT_EQ(decide(seed), "CULL");
  seed.age = 9;
  EXPECT_EQ(decide(seed), "WAIT") << "the mask does not allow to remove so young a seed";
  seed.counterfactual.reset();
  seed.total_improvement = 1;
  EXPECT_EQ(decide(seed), "FOSSILIZE") << "the improvement counts where the contribution is not known";
}

TEST(HeuristicControllerTest, NothingGerminatesForFiveEpochsAfterACull) {
  const GrowthActions actions = CnnActions();
  HeuristicController controller(actions);
  const SeedReport failing = {
      .stage = Stage::kTraining, .blueprint = 3, .epochs_in_stage = 5, .age = 12, .stage_improvement = -3};
  EXPECT_EQ(ActionName(actions, controller.Decide(Ready(), With(failing))), "CULL");
  for (int i = 1; i < 5; ++i) EXPECT_EQ(ActionName(actions, controller.Decide(Ready(), {})), "WAIT") << i;
  EXPECT_NE(ActionName(actions, controller.Decide(Ready(), {})), "WAIT");
}

TEST(HeuristicControllerTest, LeavesOutABlueprintThatWasCulledOften) {
  const GrowthActions actions = CnnActions();
  HeuristicController controller(actions, {.embargo_epochs = 0});
  const SeedReport failing = {
      .stage = Stage::kTraining, .blueprint = 3, .epochs_in_stage = 5, .age = 12, .stage_improvement = -3};
  // Penalties 2, 2 / 2 + 2 = 3, 3.5 and 3.75, of which 1.875 is left: less than 3.
  for (int i = 0; i < 4; ++i) controller.Decide(Ready(), With(failing));
  EXPECT_EQ(ActionName(actions, controller.Decide(Ready(), {})), "GERMINATE_CONV_LIGHT");
  HeuristicController strict(actions, {.embargo_epochs = 0, .most_penalty = 1});
  for (int i = 0; i < 4; ++i) strict.Decide(Ready(), With(failing));
  EXPECT_EQ(ActionName(actions, strict.Decide(Ready(), {})), "GERMINATE_CONV_HEAVY") << "1.875 is too much";
}

TEST(HeuristicControllerTest, WhereAllBlueprintsArePenalizedTheLeastFollows) {
  const GrowthActions actions = CnnActions();
  HeuristicController controller(actions, {.embargo_epochs = 0, .penalty_decay = 1, .most_penalty = 2});
  for (const int64_t blueprint : {0, 0, 1, 2, 2, 3, 3, 4, 4}) {
    controller.Decide(Ready(), With({.stage = Stage::kTraining,
                                     .blueprint = blueprint,
                                     .epochs_in_stage = 5,
                                     .age = 12,
                                     .stage_improvement = -3}));
  }
  EXPECT_EQ(ActionName(actions, controller.Decide(Ready(), {})), "GERMINATE_ATTENTION");
}

// In esper-lite the names of the CNN's blueprints are asked of every registry, and a transformer's run ends there.
TEST(HeuristicControllerTest, PlaysTransformersWithTheirOwnBlueprints) {
  const GrowthActions actions({"norm", "lora", "attention", "flex_attention", "mlp"});
  HeuristicController controller(actions);
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) names.push_back(ActionName(actions, controller.Decide(Ready(), {})));
  EXPECT_EQ(names, (std::vector<std::string>{"GERMINATE_NORM", "GERMINATE_LORA", "GERMINATE_ATTENTION",
                                             "GERMINATE_FLEX_ATTENTION", "GERMINATE_MLP"}));
}

TEST(RandomActionTest, ChoosesAmongTheAllowedOnes) {
  const std::vector<uint8_t> allowed = {1, 0, 0, 1, 0, 1};
  EXPECT_EQ(RandomAction(allowed, 0.0), 0);
  EXPECT_EQ(RandomAction(allowed, 0.33), 0);
  EXPECT_EQ(RandomAction(allowed, 0.34), 3);
  EXPECT_EQ(RandomAction(allowed, 0.67), 5);
  EXPECT_EQ(RandomAction(allowed, 0.9999999999999999), 5);
}

}  // namespace
}  // namespace reprise::rl
