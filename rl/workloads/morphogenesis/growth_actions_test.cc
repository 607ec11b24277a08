#include "rl/workloads/morphogenesis/growth_actions.h"

#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;

using models::Stage;

GrowthActions CnnActions() { return GrowthActions({"norm", "attention", "depthwise", "conv_light", "conv_heavy"}); }

TrainingSignals Ready() { return {.epoch = 5, .plateau_epochs = 3, .is_stabilized = true}; }

GrowthReport WithSeed(Stage stage, int64_t age) { return {.seed = SeedReport{.stage = stage, .age = age}}; }

// The allowed actions by the first letters of their kinds: W, G (all of them), F, C.
std::string Allowed(const TrainingSignals& signals, const GrowthReport& report, int64_t germinated = 0) {
  const GrowthActions actions = CnnActions();
  const std::vector<uint8_t> mask = actions.Mask(signals, report, germinated);
  std::string allowed = mask[0] != 0 ? "W" : "";
  int germinates = 0;
  for (int64_t a = 1; a <= actions.blueprints(); ++a) germinates += mask[a];
  EXPECT_TRUE(germinates == 0 || germinates == 5);
  if (germinates > 0) allowed += "G";
  if (mask[6] != 0) allowed += "F";
  if (mask[7] != 0) allowed += "C";
  return allowed;
}

TEST(GrowthActionsTest, TheCnnHasEightActionsInTheOrderOfItsRegistry) {
  const GrowthActions actions = CnnActions();
  std::vector<std::string> names;
  for (int64_t a = 0; a < actions.size(); ++a) names.push_back(actions.ActionName(a));
  EXPECT_EQ(names, (std::vector<std::string>{"WAIT", "GERMINATE_NORM", "GERMINATE_ATTENTION", "GERMINATE_DEPTHWISE",
                                             "GERMINATE_CONV_LIGHT", "GERMINATE_CONV_HEAVY", "FOSSILIZE", "CULL"}));
  for (int64_t a = 0; a < actions.size(); ++a) EXPECT_EQ(actions.ActionNumber(actions.At(a)), a);
}

TEST(GrowthActionsTest, GerminatesInAFreeSlotOfAStableHostOnAPlateau) {
  EXPECT_EQ(Allowed(Ready(), {}), "WG");
  TrainingSignals signals = Ready();
  signals.epoch = 4;
  EXPECT_EQ(Allowed(signals, {}), "W");
  signals = Ready();
  signals.plateau_epochs = 2;
  EXPECT_EQ(Allowed(signals, {}), "W");
  signals = Ready();
  signals.is_stabilized = false;
  EXPECT_EQ(Allowed(signals, {}), "W");
}

TEST(GrowthActionsTest, FossilizesInProbationAndCullsFromAgeTenOn) {
  for (const Stage stage : {Stage::kTraining, Stage::kBlending, Stage::kShadowing}) {
    EXPECT_EQ(Allowed(Ready(), WithSeed(stage, 9)), "W");
    EXPECT_EQ(Allowed(Ready(), WithSeed(stage, 10)), "WC");
  }
  EXPECT_EQ(Allowed(Ready(), WithSeed(Stage::kGerminated, 10)), "W") << "not active";
  EXPECT_EQ(Allowed(Ready(), WithSeed(Stage::kProbationary, 9)), "WF");
  EXPECT_EQ(Allowed(Ready(), WithSeed(Stage::kProbationary, 10)), "WFC");
  EXPECT_EQ(Allowed(Ready(), WithSeed(Stage::kFossilized, 10)), "W");
}

// In esper-lite a fossil keeps the slot, so that nothing can be germinated after it, and CULL is allowed but
// impossible.
TEST(GrowthActionsTest, TheSlotOfAFossilIsFree) {
  const GrowthReport after_fossil = {.fossil_params = 37000};
  EXPECT_EQ(Allowed(Ready(), after_fossil), "WG");
}

TEST(GrowthActionsTest, NothingGerminatesDuringAnEmbargo) { EXPECT_EQ(Allowed(Ready(), {.embargo_epochs = 1}), "W"); }

// A slot refuses more: without the mask, the choice would end the run.
TEST(GrowthActionsTest, NothingGerminatesAfterAllSeedsOfAnEpisode) {
  EXPECT_EQ(Allowed(Ready(), {}, 125), "WG");
  EXPECT_EQ(Allowed(Ready(), {}, 126), "W");
}

TEST(GrowthActionsTest, AMaskThatAllowsNothingIsAnError) {
  EXPECT_OK(RequireAction(std::vector<uint8_t>{0, 1}));
  EXPECT_THAT(RequireAction(std::vector<uint8_t>{0, 0, 0}),
              StatusIs(absl::StatusCode::kInternal, ::testing::HasSubstr("none of its 3 actions")));
}

}  // namespace
}  // namespace reprise::rl
