#include "rl/workloads/memory_agent/simulated_episode.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using data::MemoryOperation;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr uint64_t kSeed = 5;

MemoryTask TaskOfStage(int stage, uint64_t prompt = 0) {
  return DrawMemoryTask(kSeed, Purpose::kTask, stage, 1, prompt);
}

MemoryOperation ToOperation(size_t number) { return static_cast<MemoryOperation>(number); }

class SimulatedEpisodeTest : public ::testing::Test {
 protected:
  SimulatedEpisode Begin(int stage, uint64_t sample = 0, uint64_t prompt = 0) {
    return SimulatedEpisode(config_, kSeed, TaskOfStage(stage, prompt), sample);
  }
  MemoryConfig config_;
};

// The state that the policy reads when it draws an operation is the one that it is trained on: it never contains the
// operation.
TEST_F(SimulatedEpisodeTest, TheStateBeforeAnOperationIsPendingAndDoesNotDependOnIt) {
  SimulatedEpisode one = Begin(1), two = Begin(2), three = Begin(3);
  EXPECT_EQ(one.StateText(), "operation: pending; context: training");
  EXPECT_EQ(two.StateText(), "operation: pending; step: 0");
  const std::string plan(kPlans[TaskOfStage(3).plan]);
  const std::string rest = "; total_steps: " + std::to_string(three.num_steps()) + "; plan: " + plan + "; history: ";
  EXPECT_EQ(three.StateText(), "operation: pending; step: 0" + rest + "[]");
  three.Act(MemoryOperation::kAdd);
  EXPECT_EQ(three.StateText(), "operation: pending; step: 1" + rest + "['add']");
  three.Act(MemoryOperation::kRetrieve);
  EXPECT_EQ(three.StateText(), "operation: pending; step: 2" + rest + "['add', 'retrieve']");
  two.Act(MemoryOperation::kSummary);
  EXPECT_EQ(two.StateText(), "operation: pending; step: 1");
}

// A store whose add returns no id made almost every update and delete fail.
TEST_F(SimulatedEpisodeTest, OperationsOnAnEmptyMemoryFailUntilANoteIsAdded) {
  for (const MemoryOperation operation :
       {MemoryOperation::kUpdate, MemoryOperation::kDelete, MemoryOperation::kRetrieve}) {
    SimulatedEpisode empty = Begin(3);
    EXPECT_FALSE(empty.Act(operation).succeeded);
    EXPECT_THAT(empty.event(), HasSubstr("failed: "));
    SimulatedEpisode filled = Begin(3);
    EXPECT_TRUE(filled.Act(MemoryOperation::kAdd).succeeded);
    EXPECT_TRUE(filled.Act(operation).succeeded) << filled.event();
  }
  SimulatedEpisode emptied = Begin(3);
  emptied.Act(MemoryOperation::kAdd);
  emptied.Act(MemoryOperation::kDelete);
  EXPECT_FALSE(emptied.Act(MemoryOperation::kUpdate).succeeded);
}

TEST_F(SimulatedEpisodeTest, UpdateChangesTheLastNoteAndDeleteRemovesTheFirst) {
  SimulatedEpisode episode = Begin(3);
  const MemoryTask task = TaskOfStage(3);
  const std::string first = data::MemoryId(task.note(0)), second = data::MemoryId(task.note(1));
  episode.Act(MemoryOperation::kAdd);
  episode.Act(MemoryOperation::kAdd);
  episode.Act(MemoryOperation::kUpdate);
  EXPECT_EQ(episode.memory().store().Get(first)->content, task.note(0));
  EXPECT_EQ(episode.memory().store().Get(second)->content, std::string(task.note(1)) + " [updated]");
  episode.Act(MemoryOperation::kDelete);
  EXPECT_FALSE(episode.memory().store().Get(first).ok());
  EXPECT_EQ(*episode.memory().store().Size(), 1);
}

RC_GTEST_PROP(SimulatedEpisodeProperty, NoOperationFailsInTheFirstTwoStages, ()) {
  const MemoryConfig config;
  const int stage = *rc::gen::inRange(1, 3);
  SimulatedEpisode episode(config, kSeed, TaskOfStage(stage, *rc::gen::inRange<uint64_t>(0, 100)), 0);
  while (!episode.is_over()) {
    const MemoryOperation operation = ToOperation(*rc::gen::inRange<size_t>(0, data::kMemoryOperationCount));
    RC_ASSERT(episode.Act(operation).succeeded);
  }
}

RC_GTEST_PROP(SimulatedEpisodeProperty, ReplayedOperationsGiveTheSameEpisode, ()) {
  MemoryConfig config;
  config.similarity = *rc::gen::element(MemorySimilarity::kKeywords, MemorySimilarity::kCosine);
  config.buffer_size = *rc::gen::inRange<int64_t>(1, 21);
  config.context_window = *rc::gen::inRange<int64_t>(1, 4097);
  const MemoryTask task = TaskOfStage(*rc::gen::inRange(1, 4), *rc::gen::inRange<uint64_t>(0, 100));
  const uint64_t sample = *rc::gen::inRange<uint64_t>(0, 16);
  SimulatedEpisode first(config, kSeed, task, sample);
  std::vector<OperationResult> results;
  std::vector<std::string> states;
  while (!first.is_over()) {
    states.push_back(first.StateText());
    results.push_back(first.Act(ToOperation(*rc::gen::inRange<size_t>(0, data::kMemoryOperationCount))));
  }
  SimulatedEpisode second(config, kSeed, task, sample);
  for (size_t t = 0; t < results.size(); ++t) {
    RC_ASSERT(second.StateText() == states[t]);
    RC_ASSERT(second.Act(results[t].operation) == results[t]);
  }
  RC_ASSERT(second.is_over());
  RC_ASSERT(second.Outcome() == first.Outcome());
  RC_ASSERT(second.CountRecalled() == first.CountRecalled());
}

// Rewards follow from the seed: a latency is drawn, not measured.
TEST_F(SimulatedEpisodeTest, LatenciesAreWithinTheSpreadOfTheirOperationAndDifferBetweenSamples) {
  for (size_t number = 0; number < data::kMemoryOperationCount; ++number) {
    const SimulatedLatency latency = OperationLatency(ToOperation(number));
    std::set<double> drawn;
    for (uint64_t sample = 0; sample < 20; ++sample) {
      const double taken = Begin(1, sample).Act(ToOperation(number)).latency_ms;
      EXPECT_GE(taken, static_cast<double>(latency.mean_ms - latency.spread_ms));
      EXPECT_LE(taken, static_cast<double>(latency.mean_ms + latency.spread_ms));
      EXPECT_EQ(taken, Begin(1, sample).Act(ToOperation(number)).latency_ms);
      drawn.insert(taken);
    }
    EXPECT_GT(drawn.size(), 10u);
  }
  config_.latency_spread = 0;
  EXPECT_EQ(Begin(1).Act(MemoryOperation::kSummary).latency_ms, 400.0);
}

TEST_F(SimulatedEpisodeTest, RetrieveFindsStoredNotesAndPutsThemIntoTheShortTermMemory) {
  SimulatedEpisode episode = Begin(3);
  episode.Act(MemoryOperation::kAdd);
  const OperationResult result = episode.Act(MemoryOperation::kRetrieve);
  EXPECT_EQ(result.retrieved, 1);
  EXPECT_EQ(result.relevant, 1);
  ASSERT_EQ(episode.memory().buffer().items().size(), 1u);
  EXPECT_EQ(episode.memory().buffer().items().front().content, TaskOfStage(3).note(0));
  EXPECT_THAT(episode.event(), EndsWith("the best with score 1"));
}

TEST_F(SimulatedEpisodeTest, ASummaryReplacesTheShortTermMemory) {
  SimulatedEpisode episode = Begin(1);
  EXPECT_EQ(episode.memory().buffer().items().size(), 10u);
  const OperationResult result = episode.Act(MemoryOperation::kSummary);
  ASSERT_EQ(episode.memory().buffer().items().size(), 1u);
  EXPECT_EQ(episode.memory().buffer().Length(), result.output_length);
  EXPECT_LT(result.output_length, result.input_length / 2);
}

TEST_F(SimulatedEpisodeTest, AFilterKeepsWhatIsAboutTheQuery) {
  SimulatedEpisode episode = Begin(3);
  const OperationResult result = episode.Act(MemoryOperation::kFilter);
  EXPECT_EQ(result.input_length, 5);
  EXPECT_GE(result.output_length, 1);
  EXPECT_LT(result.output_length, 5);
  EXPECT_EQ(episode.memory().buffer().items().front().content, TaskOfStage(3).note(0));
}

TEST_F(SimulatedEpisodeTest, AMessageThatDoesNotFitIntoTheContextWindowFailsSummaryAndFilter) {
  config_.context_window = 10;
  for (const MemoryOperation operation : {MemoryOperation::kSummary, MemoryOperation::kFilter}) {
    SimulatedEpisode episode = Begin(1);
    EXPECT_FALSE(episode.Act(operation).succeeded);
    EXPECT_THAT(episode.event(), HasSubstr("no message fits into the context window"));
    EXPECT_GT(episode.memory().buffer().Length(), 0);  // a failed operation removes nothing
  }
}

TEST_F(SimulatedEpisodeTest, CountsWhatTheQueryFindsUpToThree) {
  SimulatedEpisode episode = Begin(3);
  for (int64_t stored = 0; stored < 4; ++stored) {
    EXPECT_LE(episode.CountRecalled(), std::min<int64_t>(stored, kRecallWanted));
    EXPECT_GE(episode.CountRecalled(), std::min<int64_t>(stored, 1));
    episode.Act(MemoryOperation::kAdd);
  }
}

TEST_F(SimulatedEpisodeTest, TheOutcomeDescribesBothMemories) {
  SimulatedEpisode idle = Begin(3);
  EXPECT_EQ(idle.Outcome(), MemoryOutcome());
  SimulatedEpisode episode = Begin(3);
  episode.Act(MemoryOperation::kAdd);
  episode.Act(MemoryOperation::kUpdate);
  episode.Act(MemoryOperation::kRetrieve);
  const MemoryOutcome outcome = episode.Outcome();
  EXPECT_EQ(outcome.answer, 1.0);
  EXPECT_EQ(outcome.preserved, 1.0);
  EXPECT_EQ(outcome.relevance, 1.0);
  EXPECT_EQ(outcome.stored, 1);
  EXPECT_EQ(outcome.relevant, 1);
  EXPECT_TRUE(outcome.has_maintained);
  EXPECT_FALSE(outcome.has_prevented);
  EXPECT_EQ(outcome.context_used, static_cast<int64_t>(TaskOfStage(3).note(0).size() + 10));
  EXPECT_EQ(outcome.operations, 3);
  episode.Act(MemoryOperation::kFilter);
  EXPECT_TRUE(episode.Outcome().has_prevented);
}

}  // namespace
}  // namespace reprise::rl
