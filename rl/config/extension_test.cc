#include "rl/config/extension.h"

#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

TEST(ExtensionTest, AStepBelongsToTheFirstPartThatEndsNotBeforeIt) {
  RunConfig run;
  run.steps = 30;
  EXPECT_EQ(EndOfPart(run, 1), 30);
  run.extended_at = "10 20";
  EXPECT_THAT(EarlierEnds(run).value(), ElementsAre(10, 20));
  EXPECT_EQ(EndOfPart(run, 1), 10);
  EXPECT_EQ(EndOfPart(run, 10), 10);
  EXPECT_EQ(EndOfPart(run, 11), 20);
  EXPECT_EQ(EndOfPart(run, 20), 20);
  EXPECT_EQ(EndOfPart(run, 21), 30);
  EXPECT_EQ(EndOfPart(run, 30), 30);
}

TEST(ExtensionTest, RejectsEveryOtherSpelling) {
  RunConfig run;
  run.steps = 30;
  for (const char* text : {"x", "0", "-1", "10 10", "20 10", "30", "31", "10  20", " 10", "10 ", "010", "+5", "1e1"}) {
    run.extended_at = text;
    EXPECT_THAT(EarlierEnds(run), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("run.extended_at"))) << text;
  }
}

TEST(ExtensionTest, ARunRecordsItsEndsWhereTheLearningRateDependsOnThem) {
  Config config;
  config.run.steps = 10;
  config.optimizer.schedule = Schedule::kLinear;
  config = Extend(config, 20).value();
  config = Extend(config, 25).value();
  EXPECT_EQ(config.run.steps, 25);
  EXPECT_EQ(config.run.extended_at, "10 20");
  config.run.extended_at = "";
  config.optimizer.schedule = Schedule::kConstant;
  config = Extend(config, 40).value();
  EXPECT_THAT(config.run.extended_at, IsEmpty());
  config.optimizer.warmup_ratio = 0.1;  // a share of run.steps
  EXPECT_EQ(Extend(config, 50).value().run.extended_at, "40");
  EXPECT_THAT(Extend(config, 40), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not more than the 40")));
}

TEST(ExtensionTest, ARunRemembersItsEndsWhereTheWeightOfTheDivergenceDependsOnThem) {
  Config config;
  config.run.steps = 10;
  config.optimizer.schedule = Schedule::kConstant;
  for (const KlSchedule schedule : {KlSchedule::kFixed, KlSchedule::kProportional, KlSchedule::kBanded}) {
    config.algorithm.kl.schedule = schedule;
    EXPECT_THAT(Extend(config, 20).value().run.extended_at, IsEmpty()) << static_cast<int>(schedule);
  }
  config.algorithm.kl.schedule = KlSchedule::kLinear;
  EXPECT_EQ(Extend(config, 20).value().run.extended_at, "10");
}

}  // namespace
}  // namespace reprise::rl
