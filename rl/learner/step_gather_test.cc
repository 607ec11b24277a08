#include "rl/learner/step_gather.h"

#include <string>
#include <vector>

#include "core/comm/testing/thread_communicator.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rl/record/table_row.h"

namespace reprise::rl {
namespace {

using ::testing::ElementsAre;

// The records of a workload that the product does not have.
RecordSchema Bandit() {
  RecordSchema schema;
  schema.streams = {RecordStream("choices", {ScalarColumn("context", DType::kI64),
                                             RaggedColumn("features", DType::kF32), StringColumn("note")}),
                    RecordStream("answers", {ScalarColumn("early", DType::kU8), ScalarColumn("sure", DType::kU8),
                                             ScalarColumn("context", DType::kI64)})};
  schema.orders = {{"answers", {"early", "sure"}}};
  return schema;
}

struct Choice {
  int64_t context = 0;
  std::vector<float> features;
  std::string note;
};

struct Answer {
  bool early = false, sure = false;
  int64_t context = 0;

  bool operator==(const Answer&) const = default;
};

void Columns(auto&& row, auto& choice) { row.Columns(choice.context, choice.features, choice.note); }
void AnswerColumns(auto&& row, auto& answer) { row.Columns(answer.early, answer.sure, answer.context); }

// Rank r has r choices, so that one rank has none, and four answers, one of each kind.
StepShare MakeShare(int rank) {
  StepShare share;
  share.tables = EmptyTables(Bandit().streams);
  for (int i = 0; i < rank; ++i) {
    const Choice choice = {10 * rank + i, std::vector<float>(static_cast<size_t>(i), 0.5f), std::string(2, 'a' + i)};
    Columns(RowWriter(Phase::kTraining, 4, share.tables[0]), choice);
  }
  for (const bool early : {true, false}) {
    for (const bool sure : {true, false}) {
      const Answer answer = {early, sure, rank};
      AnswerColumns(RowWriter(Phase::kTraining, 4, share.tables[1]), answer);
    }
  }
  share.outcome_N.resize(static_cast<size_t>(rank));
  for (EpisodeOutcome& outcome : share.outcome_N) outcome.loss = rank;
  return share;
}

TEST(GatherStepTest, AppendsTheRowsOfAnyWorkloadInRankOrder) {
  StepShare whole;
  ASSERT_OK(RunAsRanks(3, [&](Communicator& comm) -> absl::Status {
    StepShare share = MakeShare(comm.rank());
    const absl::Status status = GatherStep(comm, Bandit(), &share);
    if (comm.rank() == 0) whole = std::move(share);
    return status;
  }));
  std::vector<Choice> choices;
  for (RowReader row(&whole.tables[0]); row.has_row(); row.Next()) Columns(row, choices.emplace_back());
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_THAT((std::vector<int64_t>{choices[0].context, choices[1].context, choices[2].context}),
              ElementsAre(10, 20, 21));
  EXPECT_THAT(choices[0].features, ElementsAre());
  EXPECT_THAT(choices[2].features, ElementsAre(0.5f));
  EXPECT_EQ(choices[2].note, "bb");
  std::vector<double> losses;
  for (const EpisodeOutcome& outcome : whole.outcome_N) losses.push_back(outcome.loss);
  EXPECT_THAT(losses, ElementsAre(1, 2, 2));
}

// As a single rank appends them: kind by kind, not rank by rank.
TEST(GatherStepTest, PutsTheRowsOfAStreamWithAnOrderIntoIt) {
  StepShare whole;
  ASSERT_OK(RunAsRanks(2, [&](Communicator& comm) -> absl::Status {
    StepShare share = MakeShare(comm.rank());
    const absl::Status status = GatherStep(comm, Bandit(), &share);
    if (comm.rank() == 0) whole = std::move(share);
    return status;
  }));
  std::vector<Answer> answers;
  for (RowReader row(&whole.tables[1]); row.has_row(); row.Next()) AnswerColumns(row, answers.emplace_back());
  EXPECT_THAT(answers, ElementsAre(Answer{true, true, 0}, Answer{true, true, 1}, Answer{true, false, 0},
                                   Answer{true, false, 1}, Answer{false, true, 0}, Answer{false, true, 1},
                                   Answer{false, false, 0}, Answer{false, false, 1}));
}

}  // namespace
}  // namespace reprise::rl
