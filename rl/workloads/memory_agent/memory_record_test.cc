#include "rl/workloads/memory_agent/memory_record.h"

#include <any>
#include <functional>
#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/policy/encoder/text_decisions.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

Config TestConfig() {
  Config config;
  config.run.workload = "memory_agent";
  config.run.seed = 3;
  config.memory.stage1_steps = config.memory.stage2_steps = 2;
  config.memory.stage3_behaviour = MemoryBehaviour::kUniform;
  config.rollout.prompts_per_step = 2;
  config.rollout.num_generations = 2;
  return config;
}

// A step of training of the third stage, in which notes are added and then looked up.
StepRecord StepOf(const Config& config, int64_t step = 5) {
  StepRecord record;
  record.phase = Phase::kTraining;
  record.step = step;
  record.count_C = {4, 5};
  record.counts_per_layer = 2;
  for (int64_t prompt = 0; prompt < config.rollout.prompts_per_step; ++prompt) {
    record.task_P.push_back(MemoryTaskRecord(config, record.phase, record.step, prompt));
    const MemoryTask& task = GetMemoryTask(record.task_P.back());
    for (int64_t sample = 0; sample < config.rollout.num_generations; ++sample) {
      std::vector<data::MemoryOperation> operations(
          static_cast<size_t>(DrawEpisodeLength(3, task, static_cast<uint64_t>(sample))),
          data::MemoryOperation::kRetrieve);
      operations[0] = data::MemoryOperation::kAdd;
      EpisodeRecord& episode =
          record.episode_N.emplace_back(MemoryEpisodeRecord(record.task_P.back(), sample, operations));
      const EpisodeReport report = RebuildReport(config, record.task_P.back(), episode);
      episode.logprobs.assign(operations.size(), -0.5f);
      episode.behaviour_logprobs.assign(operations.size(), -1.75f);
      episode.earned_T = report.earned_T();
      episode.reward = report.reward;
      episode.rewards_F = {report.reward};
    }
  }
  return record;
}

StepTables MakeTables(const Config& config, const StepRecord& record) {
  StepTables step = {record.phase, record.step, MemoryTables(config, record)};
  for (StreamTable& results : ResultTables(record, /*has_counts=*/true)) step.tables.push_back(std::move(results));
  return step;
}

TEST(MemoryRecordTest, IsReadAsItWasWritten) {
  const Config config = TestConfig();
  for (const int64_t step : {1, 3, 5}) {  // of each stage
    const StepTables tables = MakeTables(config, StepOf(config, step));
    ASSERT_OK(CheckMemoryTables(config, tables));
    const StepRecord read = ReadMemoryRecord(config, tables);
    const auto difference =
        FirstDivergence(MemorySchema(config), tables, MakeTables(config, read), {}, Digests::kWhereBoth);
    EXPECT_FALSE(difference.has_value()) << difference->ToString();
  }
}

TEST(MemoryRecordTest, ADecisionIsTheStateBeforeItAndWhatItDid) {
  const Config config = TestConfig();
  const StepTables tables = MakeTables(config, StepOf(config));
  const StreamTable& decisions = *tables.Find("decisions");
  EXPECT_THAT(std::string(decisions.String(6, 1)), HasSubstr("operation: pending; step: 1; total_steps: "));
  EXPECT_THAT(std::string(decisions.String(6, 1)), HasSubstr("; history: ['add']"));
  EXPECT_EQ(decisions.Row<int64_t>(9, 1)[0], 1);  // retrieved
}

TEST(MemoryRecordTest, AnEpisodeHasATurnForEachOperation) {
  const Config config = TestConfig();
  const StepRecord record = StepOf(config);
  const Decisions& decisions = record.episode_N[0].decisions;
  EXPECT_TRUE(record.episode_N[0].terminated);
  EXPECT_EQ(decisions.turns, decisions.count);
  EXPECT_EQ(static_cast<int64_t>(decisions.turn_T.size()), decisions.count);
  EXPECT_EQ(decisions.turn_T.back(), decisions.count - 1);
  EXPECT_TRUE(decisions.learned_T.empty());
}

TEST(MemoryRecordTest, CorruptionIsRejectedWithItsPlace) {
  struct Case {
    std::function<void(StepTables&)> corrupt;
    std::string message;
  };
  const auto table = [](StepTables& step, absl::string_view stream) -> StreamTable& {
    for (StreamTable& each : step.tables) {
      if (each.schema().name == stream) return each;
    }
    return step.tables.front();
  };
  // Columns after phase and step.
  const auto i64 = [table](absl::string_view stream, int column, size_t at, int64_t value) {
    return [=](StepTables& step) { table(step, stream).MutableValues<int64_t>(column + 2)[at] = value; };
  };
  const auto i32 = [table](absl::string_view stream, int column, size_t at, int32_t value) {
    return [=](StepTables& step) { table(step, stream).MutableValues<int32_t>(column + 2)[at] = value; };
  };
  const auto f64 = [table](absl::string_view stream, int column, size_t at, double value) {
    return [=](StepTables& step) { table(step, stream).MutableValues<double>(column + 2)[at] = value; };
  };
  const std::vector<Case> cases = {
      {i64("tasks", 0, 1, 2), "stream tasks, row 1: it is not the next prompt"},
      {i64("tasks", 1, 0, 2), "stream tasks, row 0: it is of another stage than its step"},
      {i32("tasks", 2, 1, 4), "its plan does not exist"},
      {i32("tasks", 2, 1, -1), "its plan does not exist"},
      {i32("tasks", 3, 0, 77), "its notes are not all notes, each once"},
      {i64("episodes", 1, 3, 0), "it is not the next sample of its task"},
      {i64("episodes", 2, 2, 9), "it has another number of operations than its place gives it"},
      {i64("episodes", 2, 2, -1), "it has another number of operations than its place gives it"},
      {f64("episodes", 7, 1, 1e19), "a number is out of bounds"},
      {f64("episodes", 6, 1, 0.0 / 0.0), "a number is out of bounds"},
      {i32("decisions", 3, 2, 6), "its action is no operation"},
      {i32("decisions", 3, 2, -1), "its action is no operation"},
      {i64("decisions", 2, 1, 0), "it is not the next operation of its episode"},
      {i64("decisions", 1, 0, 1), "it lacks an operation"},
      {i64("decisions", 7, 0, -1), "it has a negative number of texts, length or latency"},
      {f64("decisions", 6, 0, -1), "it has a negative number of texts, length or latency"},
      {f64("decisions", 14, 0, 1.0 / 0.0), "a number is out of bounds"},
      {f64("decisions", 15, 0, 1.0 / 0.0), "a number is out of bounds"},
  };
  const Config config = TestConfig();
  for (const Case& each : cases) {
    StepTables step = MakeTables(config, StepOf(config));
    each.corrupt(step);
    EXPECT_THAT(CheckMemoryTables(config, step), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(each.message)))
        << each.message;
  }
}

class FactsRecordTest : public ::testing::Test {
 protected:
  FactsRecordTest() : config_(TestConfig()) {
    config_.memory.task = MemoryTaskKind::kFacts, config_.memory.buffer_size = 4;
  }
  // Returns the refusal of a step whose answers and tasks were changed.
  absl::Status StatusAfter(const std::function<void(StreamTable& tasks, StreamTable& answers)>& corrupt) {
    StepTables step = MakeTables(config_, StepOf(config_));
    corrupt(step.tables[0], step.tables[3]);
    return CheckMemoryTables(config_, step);
  }
  Config config_;
};

TEST_F(FactsRecordTest, HasWhatIsAskedAndAnsweredInTheThirdStage) {
  for (const int64_t step : {1, 3, 5}) {
    const StepTables tables = MakeTables(config_, StepOf(config_, step));
    ASSERT_OK(CheckMemoryTables(config_, tables));
    EXPECT_EQ(tables.Find("answers")->rows(), step == 5 ? 4 : 0);
    const auto difference = FirstDivergence(
        MemorySchema(config_), tables, MakeTables(config_, ReadMemoryRecord(config_, tables)), {}, Digests::kWhereBoth);
    EXPECT_FALSE(difference.has_value()) << difference->ToString();
  }
  const StepTables tables = MakeTables(config_, StepOf(config_));
  const StreamTable& answers = *tables.Find("answers");
  const std::string question(answers.String(4, 0)), expected(answers.String(5, 0));
  EXPECT_EQ(question.substr(0, 13), "Where is the ");
  // The last of the states' messages that names a place says the same.
  std::string said;
  const std::string begin = "message: The " + question.substr(13, question.size() - 14) + " is ";
  for (int64_t row = 0; tables.Find("decisions")->Values<int64_t>(3)[row] == 0; ++row) {
    const std::string state(tables.Find("decisions")->String(6, row));
    const size_t at = state.find(begin);
    if (at != state.npos) said = state.substr(at + begin.size(), state.find('.', at) - at - begin.size());
  }
  EXPECT_EQ(said, expected);
}

TEST_F(FactsRecordTest, CorruptedAnswersAreRejected) {
  constexpr auto kLoss = absl::StatusCode::kDataLoss;
  EXPECT_THAT(StatusAfter([](StreamTable&, StreamTable& answers) { answers.MutableValues<uint8_t>(7)[1] ^= 1; }),
              StatusIs(kLoss, HasSubstr("stream answers, row 1: whether it is correct is not")));
  EXPECT_THAT(StatusAfter([](StreamTable&, StreamTable& answers) { answers.MutableValues<uint8_t>(7)[1] = 2; }),
              StatusIs(kLoss, HasSubstr("neither 0 nor 1")));
  EXPECT_THAT(StatusAfter([](StreamTable&, StreamTable& answers) { answers.MutableValues<int64_t>(3)[0] = 7; }),
              StatusIs(kLoss, HasSubstr("it lacks an answer")));
  EXPECT_THAT(StatusAfter([](StreamTable&, StreamTable& answers) {
                const StreamTable copy = answers;
                answers.AppendRows(copy, 0, 1);
              }),
              StatusIs(kLoss, HasSubstr("it belongs to no episode")));
}

TEST(MemoryRecordTest, RowsThatAreMissingOrTooManyAreRejected) {
  const std::vector<std::pair<std::function<void(StepRecord&)>, std::string>> cases = {
      {[](StepRecord& r) { r.episode_N.pop_back(); }, "it lacks an episode"},
      {[](StepRecord& r) { r.episode_N.push_back(r.episode_N[3]); }, "it belongs to no task"},
      {[](StepRecord& r) { r.episode_N[1].logprobs.pop_back(); }, "it has not one log-probability for each"},
      {[](StepRecord& r) { r.episode_N[1].behaviour_logprobs.pop_back(); }, "under the behaviour"},
      {[](StepRecord& r) { r.episode_N[1].ref_logprobs = {0.0f}; }, "under the reference"},
      {[](StepRecord& r) { r.episode_N[1].rewards_F.push_back(1); }, "it has another number of rewards"},
      {[](StepRecord& r) { r.step = int64_t{1} << 32; }, "its step cannot be one of a run"},
  };
  const Config config = TestConfig();
  for (const auto& [corrupt, message] : cases) {
    StepRecord record = StepOf(config);
    corrupt(record);
    StepTables step = {record.phase, record.step, MemoryTables(config, record)};
    EXPECT_THAT(CheckMemoryTables(config, step), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(message))) << message;
  }
}

}  // namespace
}  // namespace reprise::rl
