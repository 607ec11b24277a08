#include "pipelines/stored/run_comparison.h"

#include "gtest/gtest.h"
#include "rl/record/completions/record_streams.h"

namespace reprise {
namespace {

using rl::Phase;

rl::StepRecord Record(Phase phase, int64_t step, double reward = 0.5) {
  rl::StepRecord record;
  record.phase = phase;
  record.step = step;
  record.metrics = {{"reward", reward}};
  record.weight_digests = {Sha256(std::string("weights"))};
  return record;
}

RunComparison Compare(const std::vector<rl::StepRecord>& a, const std::vector<rl::StepRecord>& b) {
  const auto tables_of = [](const std::vector<rl::StepRecord>& records) {
    std::vector<rl::StepTables> steps;
    for (const rl::StepRecord& record : records) steps.push_back(rl::ToTables(record, {}));
    return steps;
  };
  RunComparison comparison;
  CompareSteps(rl::CompletionSchema({}), tables_of(a), tables_of(b), {"model.norm.weight"}, &comparison);
  return comparison;
}

TEST(RunComparisonTest, EqualRecordsAreIdentical) {
  const std::vector<rl::StepRecord> run = {Record(Phase::kSft, 1), Record(Phase::kTraining, 1)};
  const RunComparison found = Compare(run, run);
  EXPECT_TRUE(found.identical());
  EXPECT_EQ(found.steps_compared, 2);
}

TEST(RunComparisonTest, TheFirstDifferenceIsNamedWithItsPlaceAndBothValues) {
  std::vector<rl::StepRecord> a = {Record(Phase::kSft, 1), Record(Phase::kTraining, 1), Record(Phase::kTraining, 2)};
  std::vector<rl::StepRecord> b = a;
  b[1].weight_digests[0][0] ^= std::byte{1};
  b[2].metrics[0].second = 0.25;
  const RunComparison found = Compare(a, b);
  ASSERT_TRUE(found.divergence);
  EXPECT_EQ(found.steps_compared, 1);
  EXPECT_EQ(found.divergence->step, 1);
  EXPECT_EQ(found.divergence->stage, "weights");
  EXPECT_EQ(found.divergence->tensor, "model.norm.weight");
  EXPECT_NE(found.divergence->expected, found.divergence->actual);
}

TEST(RunComparisonTest, ARunThatEndsEarlierIsNoDivergenceButNotIdentical) {
  const std::vector<rl::StepRecord> a = {Record(Phase::kTraining, 1)};
  const std::vector<rl::StepRecord> b = {Record(Phase::kTraining, 1), Record(Phase::kTraining, 2)};
  const RunComparison found = Compare(a, b);
  EXPECT_FALSE(found.divergence);
  ASSERT_TRUE(found.end);
  EXPECT_EQ(found.end->a, 1);
  EXPECT_EQ(found.end->b, 2);
  EXPECT_FALSE(found.identical());
}

TEST(RunComparisonTest, AMissingSftIsTheFirstEnd) {
  const std::vector<rl::StepRecord> a = {Record(Phase::kTraining, 1)};
  const std::vector<rl::StepRecord> b = {Record(Phase::kSft, 1), Record(Phase::kTraining, 1),
                                         Record(Phase::kTraining, 2)};
  const RunComparison found = Compare(a, b);
  ASSERT_TRUE(found.end);
  EXPECT_EQ(found.end->phase, Phase::kSft);
  EXPECT_EQ(found.end->a, 0);
  EXPECT_EQ(found.steps_compared, 1);
}

}  // namespace
}  // namespace reprise
