#include "rl/workloads/memory_agent/episode_report.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/random/draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using enum data::MemoryOperation;
using ::testing::HasSubstr;
using ::testing::Not;
using Operations = std::vector<data::MemoryOperation>;

constexpr uint64_t kSeed = 5;

MemoryTask TaskOfStage(int stage) { return DrawMemoryTask(kSeed, Purpose::kTask, stage, 1, 0); }

// The operations, then updates to the end.
EpisodeReport Report(const MemoryConfig& memory, int stage, Operations operations) {
  const MemoryTask task = TaskOfStage(stage);
  operations.resize(static_cast<size_t>(DrawEpisodeLength(kSeed, task, 0)), kUpdate);
  return ReportEpisode(memory, kSeed, task, 0, operations);
}

TEST(EpisodeReportTest, EachOperationEarnsItsCompositeAndAPartOfTheBonus) {
  MemoryConfig memory;
  memory.latency_spread = 0;
  const EpisodeReport report = Report(memory, 3, {kUpdate, kAdd, kAdd, kAdd});
  EXPECT_EQ(report.num_failed(), 1);
  EXPECT_NEAR(report.recall_bonus, 0.5, 1e-15);
  const double bonus = 0.5 / static_cast<double>(report.decision_T.size());
  EXPECT_NEAR(report.decision_T[0].earned, -0.25 + 0.3 + bonus, 1e-12);  // 90 ms is below the optimal latency
  EXPECT_NEAR(report.decision_T[1].earned, 0.5 + 0.3 * std::exp(1 - 1.2) + 0.2 + bonus, 1e-12);
  double sum = 0;
  for (const double earned : report.earned_T()) sum += earned;
  EXPECT_NEAR(report.reward, sum / static_cast<double>(report.decision_T.size()), 1e-12);
}

TEST(EpisodeReportTest, OnlyTheThirdStageHasABonusAndItCanBeSwitchedOff) {
  MemoryConfig memory;
  EXPECT_EQ(Report(memory, 2, {kAdd, kAdd, kAdd}).recall_bonus, 0.0);
  EXPECT_NEAR(Report(memory, 3, {kAdd}).recall_bonus, 0.5 / 3, 1e-15);
  memory.recall_bonus = 0;
  EXPECT_EQ(Report(memory, 3, {kAdd, kAdd, kAdd}).recall_bonus, 0.0);
}

TEST(EpisodeReportTest, TheRewardOfTheOutcomeReplacesTheMeanOfComposites) {
  MemoryConfig memory;
  memory.reward = MemoryReward::kAgemem;
  const EpisodeReport report = Report(memory, 3, {kAdd, kRetrieve});
  EXPECT_EQ(report.reward, report.outcome_reward.total);
  EXPECT_EQ(report.outcome.operations, static_cast<int64_t>(report.decision_T.size()));
  memory.max_rounds = 3;
  EXPECT_NEAR(Report(memory, 3, {kAdd, kRetrieve}).reward, report.reward - 1, 1e-15);
}

TEST(EpisodeReportTest, TheOriginalModeLeavesEfficiencyAboveOne) {
  MemoryConfig memory;
  EXPECT_EQ(Report(memory, 1, {kDelete}).decision_T[0].reward.efficiency, 1.0);
  memory.reward_mode = RewardMode::kOriginal;
  EXPECT_GT(Report(memory, 1, {kDelete}).decision_T[0].reward.efficiency, 1.2);
}

// Bounds of what a policy of stage 3 can learn: random operations, and the best fixed ones that a search found.
TEST(EpisodeReportTest, FixedOperationsEarnTwiceWhatRandomOnesDo) {
  constexpr uint64_t kTasks = 400;
  struct Mean {
    double reward = 0, failed = 0;
  };
  const auto mean_of = [](const std::function<data::MemoryOperation(uint64_t prompt, uint64_t t)>& choose) {
    const MemoryConfig memory;
    Mean mean;
    double operations = 0;
    for (uint64_t prompt = 0; prompt < kTasks; ++prompt) {
      const MemoryTask task = DrawMemoryTask(kSeed, Purpose::kTask, 3, 1, prompt);
      Operations chosen;
      for (int64_t t = 0; t < DrawEpisodeLength(kSeed, task, 0); ++t) {
        chosen.push_back(choose(prompt, static_cast<uint64_t>(t)));
      }
      const EpisodeReport report = ReportEpisode(memory, kSeed, task, 0, chosen);
      mean.reward += report.reward / static_cast<double>(kTasks);
      mean.failed += static_cast<double>(report.num_failed());
      operations += static_cast<double>(chosen.size());
    }
    mean.failed /= operations;
    return mean;
  };
  const Mean random = mean_of([](uint64_t prompt, uint64_t t) {
    return static_cast<data::MemoryOperation>(DrawBelow(kSeed, Purpose::kTest, {.prompt = prompt, .token = t}, 6));
  });
  EXPECT_NEAR(random.reward, 0.54, 0.04);
  EXPECT_NEAR(random.failed, 0.36, 0.04);
  const Mean add = mean_of([](uint64_t, uint64_t) { return kAdd; });
  EXPECT_NEAR(add.reward, 1.032, 0.01);
  const Mean best = mean_of([](uint64_t, uint64_t t) { return t < 3 ? kAdd : kUpdate; });
  EXPECT_NEAR(best.reward, 1.054, 0.01);  // benchmarks/learning/fixed_operations finds it
  EXPECT_GT(best.reward, add.reward);
  EXPECT_EQ(best.failed, 0.0);
}

TEST(TranscriptTest, TellsWhatEachOperationDid) {
  MemoryConfig memory;
  memory.latency_spread = 0;
  const MemoryTask task = TaskOfStage(3);
  const std::string text = FormatTranscript(task, Report(memory, 3, {kDelete, kAdd, kRetrieve, kSummary}));
  const std::string query(task.query());
  EXPECT_THAT(text, HasSubstr("about \"" + query + "\"; plan: "));
  EXPECT_THAT(text, HasSubstr("history: ['delete', 'add']\n"));
  EXPECT_THAT(text, HasSubstr("      1  DELETE    failed: nothing is stored to delete\n"));
  EXPECT_THAT(text, HasSubstr("      2  ADD       stored "));
  EXPECT_THAT(text, HasSubstr("      3  RETRIEVE  found 1 text for \"" + query + "\", the best with score 1\n"));
  EXPECT_THAT(text, HasSubstr("succeeded, 400.0 ms, efficiency 0.050"));
  EXPECT_THAT(text, HasSubstr("in which a bonus of 0.167 for what the memory knows at the end is divided equally\n"));
  memory.reward = MemoryReward::kAgemem;
  const std::string outcome = FormatTranscript(task, Report(memory, 3, {kDelete, kAdd, kRetrieve, kSummary}));
  EXPECT_THAT(outcome, HasSubstr("  by itself "));
  EXPECT_THAT(outcome, HasSubstr(": a third of answer 1.000, context "));
  EXPECT_THAT(outcome, Not(HasSubstr("bonus")));
}

}  // namespace
}  // namespace reprise::rl
