#include "rl/workloads/morphogenesis/growth_record.h"

#include <any>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

Config Small() {
  Config config;
  config.run.workload = "morphogenesis";
  config.morphogenesis.max_epochs = 2;
  config.rollout.prompts_per_step = 2;
  config.rollout.num_generations = 1;
  return config;
}

GrowthRules Rules() {
  auto rules = GrowthRules::Of(Small());
  EXPECT_OK(rules);
  return *std::move(rules);
}

PlayedGrowth Played() {
  const SeedReport seed = {.stage = models::Stage::kBlending,
                           .previous_stage = models::Stage::kTraining,
                           .blueprint = 3,
                           .epochs_in_stage = 1,
                           .age = 11,
                           .params = 500,
                           .alpha = 0.5,
                           .counterfactual = -1.5};
  return {.host_params = 6418,
          .report_T1 = {{.measures = {2.5, 10, 2.25, 12}},
                        {.measures = {2, 20, 1.75, 37}, .host_gradient_norm = 2, .seed = seed},
                        {.measures = {2, 20, 1.75, 37}, .embargo_epochs = 5, .fossil_params = 7}},
          .action_T = {0, 7},
          .events = {{.kind = GrowthEventKind::kSeedCulled,
                      .epoch = 2,
                      .seed_id = "seed_1",
                      .slot_id = "block2_post",
                      .blueprint_id = "conv_light",
                      .from = models::Stage::kBlending,
                      .to = models::Stage::kCulled,
                      .counterfactual = -1.5,
                      .reason = "chosen by the controller"}}};
}

StepRecord Record() {
  StepRecord record;
  record.step = 1;
  for (int64_t prompt = 0; prompt < 2; ++prompt) {
    record.task_P.push_back(GrowthTaskRecord(Small(), Phase::kTraining, 1, prompt));
    auto episode = GrowthEpisodeRecord(Rules(), prompt, 0, Played());
    EXPECT_OK(episode);
    episode->logprobs = {0, -0.5F};
    episode->rewards_F = {3.0};
    episode->reward = 3;
    episode->earned_T = {1, 2};
    episode->advantage_T = {0.25, -0.25};
    record.episode_N.push_back(*std::move(episode));
  }
  return record;
}

StepTables MakeTables(const StepRecord& record) {
  StepTables step;
  step.phase = record.phase, step.step = record.step;
  step.tables = GrowthTables(record);
  return step;
}

absl::Status Check(const StepTables& step) { return CheckGrowthTables(Small(), Rules(), step); }

TEST(GrowthRecordTest, AStepComesBackFromItsTables) {
  const StepTables tables = MakeTables(Record());
  ASSERT_OK(Check(tables));
  ASSERT_OK_AND_ASSIGN(const StepRecord read, ReadGrowthRecord(Rules(), tables));
  ASSERT_EQ(read.episode_N.size(), 2u);
  EXPECT_EQ(GetPlayedGrowth(read.episode_N[1]), Played());
  EXPECT_EQ(GetGrowthTask(read.task_P[1]), GetGrowthTask(Record().task_P[1]));
  EXPECT_EQ(read.episode_N[1].earned_T, (std::vector<double>{1, 2}));
  EXPECT_EQ(read.episode_N[1].advantage_T, (std::vector<double>{0.25, -0.25}));
  EXPECT_FALSE(FirstDivergence(GrowthSchema(Small()), MakeTables(read), tables, {}).has_value());
}

TEST(GrowthRecordTest, HostsOfTwoPromptsAndOfTrainingAndEvaluationDiffer) {
  const uint64_t seed = HostSeed(1, Purpose::kTask, 1, 0);
  EXPECT_NE(seed, HostSeed(1, Purpose::kTask, 1, 1));
  EXPECT_NE(seed, HostSeed(1, Purpose::kTask, 2, 0));
  EXPECT_NE(seed, HostSeed(1, Purpose::kEvaluationTask, 1, 0));
  EXPECT_NE(seed, HostSeed(2, Purpose::kTask, 1, 0));
}

// Returns the error for a record that was damaged.
std::string ErrorOf(const std::function<void(StepRecord&)>& corrupt) {
  StepRecord record = Record();
  corrupt(record);
  const absl::Status status = Check(MakeTables(record));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  return std::string(status.message());
}

FeatureDecisions& Decisions(StepRecord& record) {
  return *std::any_cast<FeatureDecisions>(&record.episode_N[1].content);
}
PlayedGrowth& PlayedIn(StepRecord& record) { return *std::any_cast<PlayedGrowth>(&Decisions(record).origin); }

TEST(GrowthRecordTest, CorruptionIsASentenceWithStreamAndRow) {
  EXPECT_THAT(ErrorOf([](StepRecord& r) { r.episode_N.pop_back(); }), HasSubstr("stream hosts, row 1: it lacks an"));
  EXPECT_THAT(ErrorOf([](StepRecord& r) { r.episode_N[1].logprobs.pop_back(); }), HasSubstr("stream episodes, row 1"));
  EXPECT_THAT(ErrorOf([](StepRecord& r) { PlayedIn(r).host_params = 0; }), HasSubstr("its host has no parameters"));
  EXPECT_THAT(ErrorOf([](StepRecord& r) { PlayedIn(r).report_T1[1].seed->blueprint = 5; }),
              HasSubstr("stream networks, row 4: its blueprint does not exist"));
  EXPECT_THAT(ErrorOf([](StepRecord& r) { PlayedIn(r).report_T1[1].seed->stage = static_cast<models::Stage>(11); }),
              HasSubstr("its stage does not exist"));
  EXPECT_THAT(ErrorOf([](StepRecord& r) { PlayedIn(r).report_T1[0].measures.val_loss = 1e300; }),
              HasSubstr("out of bounds"));
  EXPECT_THAT(ErrorOf([](StepRecord& r) { PlayedIn(r).report_T1[0].fossil_params = -1; }), HasSubstr("is negative"));
  EXPECT_THAT(ErrorOf([](StepRecord& r) { Decisions(r).action_T[0] = 6; }),
              HasSubstr("stream decisions, row 2: its action is not allowed"));
  EXPECT_THAT(ErrorOf([](StepRecord& r) { Decisions(r).feature_TF.resize(3); }), HasSubstr("number of features"));
  EXPECT_THAT(ErrorOf([](StepRecord& r) { PlayedIn(r).events[0].kind = static_cast<GrowthEventKind>(6); }),
              HasSubstr("stream events, row 1: its kind does not exist"));
  EXPECT_THAT(ErrorOf([](StepRecord& r) { PlayedIn(r).events[0].gate = static_cast<models::Gate>(6); }),
              HasSubstr("its gate does not exist"));
  EXPECT_THAT(ErrorOf([](StepRecord& r) { PlayedIn(r).events[0].epoch = 3; }), HasSubstr("its epoch does not exist"));
}

// What the check cannot see without computing the episode is refused when it is decoded.
TEST(GrowthRecordTest, AnActionThatItsStateDoesNotAllowIsNotExecutedAgain) {
  StepRecord record = Record();
  Decisions(record).action_T[0] = 6, Decisions(record).allowed_TA[6] = 1;
  const StepTables tables = MakeTables(record);
  ASSERT_OK(Check(tables));
  EXPECT_THAT(ReadGrowthRecord(Rules(), tables),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("prompt 1 sample 0: the action 6 after epoch 1")));
}

TEST(GrowthRecordTest, TheFirstDifferenceIsNamed) {
  const RecordSchema schema = GrowthSchema(Small());
  StepRecord other = Record();
  PlayedIn(other).report_T1[1].seed->alpha = 0.75;
  const auto divergence = FirstDivergence(schema, MakeTables(Record()), MakeTables(other), {});
  ASSERT_TRUE(divergence.has_value());
  EXPECT_EQ(divergence->stage, "networks");
}

}  // namespace
}  // namespace reprise::rl
