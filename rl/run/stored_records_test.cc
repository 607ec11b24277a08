#include "rl/run/stored_records.h"

#include <cstdint>

#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rl/record/record_schema.h"
#include "rl/record/table_row.h"

namespace reprise::rl {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

Config WithCounts(int64_t of_sft, int64_t prompts, int64_t samples) {
  Config config;
  config.sft.prompts_per_step = of_sft;
  config.rollout.prompts_per_step = prompts;
  config.rollout.num_generations = samples;
  return config;
}

// Returns a step that has only the rows of its episodes. They lack their own columns, which are not read.
StepTables StepOf(Phase phase, int64_t episodes) {
  StepTables step = {phase, 3, EmptyTables({RecordStream("episodes", {})})};
  for (int64_t row = 0; row < episodes; ++row) RowWriter(phase, 3, step.tables[0]);
  return step;
}

TEST(StoredRecordsTest, AStepHasAnEpisodeForEachSampleOfEachPromptAndOneOfEachInTheSft) {
  EXPECT_OK(CheckEpisodes(WithCounts(5, 4, 3), StepOf(Phase::kTraining, 12)));
  EXPECT_OK(CheckEpisodes(WithCounts(5, 4, 3), StepOf(Phase::kSft, 5)));
}

TEST(StoredRecordsTest, MoreEpisodesInTheConfigurationThanInTheStepAreCorruption) {
  EXPECT_THAT(CheckEpisodes(WithCounts(16777216, 4, 3), StepOf(Phase::kSft, 5)),
              StatusIs(kDataLoss, HasSubstr("stream episodes has 5 rows of one step; its configuration's "
                                            "sft.prompts_per_step 16777216 gives 16777216")));
  EXPECT_THAT(CheckEpisodes(WithCounts(5, 4194304, 3), StepOf(Phase::kTraining, 12)),
              StatusIs(kDataLoss, HasSubstr("stream episodes has 12 rows of one step; its configuration's "
                                            "rollout.prompts_per_step 4194304 with rollout.num_generations 3 gives "
                                            "12582912")));
  EXPECT_THAT(CheckEpisodes(WithCounts(5, 4, 65536), StepOf(Phase::kTraining, 12)),
              StatusIs(kDataLoss, HasSubstr("with rollout.num_generations 65536 gives 262144")));
}

TEST(StoredRecordsTest, FewerEpisodesInTheConfigurationThanInTheStepAreCorruption) {
  EXPECT_THAT(CheckEpisodes(WithCounts(5, 4, 2), StepOf(Phase::kTraining, 12)),
              StatusIs(kDataLoss, HasSubstr("has 12 rows of one step")));
}

}  // namespace
}  // namespace reprise::rl
