#include "pipelines/sweeps/pending_trials.h"

#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "pipelines/sweeps/attempts.h"
#include "pipelines/sweeps/trial_outcome.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PendingTrialsTest : public ::testing::Test {
 protected:
  PendingTrialsTest() {
    for (const char* const name : {"a", "b", "c", "d"}) {
      PlannedTrial trial;
      trial.name = name;
      plan_.trials.push_back(trial);
    }
  }

  std::string TrialPath(const char* name) const { return TrialDirectory("sweep", name); }
  void Begin(const char* name, uint32_t execution) { ASSERT_OK(BeginAttempt(files_, TrialPath(name), execution, -1)); }
  PendingTrials Find(const std::vector<int64_t>& trials = {0, 1, 2, 3}, int64_t most_attempts = 2) {
    absl::StatusOr<PendingTrials> pending = FindPendingTrials(files_, "sweep", plan_, trials, most_attempts);
    EXPECT_OK(pending.status());
    return pending.value_or(PendingTrials());
  }

  FakeFileSystem files_;
  StoredPlan plan_;
};

TEST_F(PendingTrialsTest, BeforeTheFirstStartAllAreShared) {
  const PendingTrials pending = Find();
  EXPECT_THAT(pending.shared, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(pending.alone, IsEmpty());
}

TEST_F(PendingTrialsTest, TrialsThatDiedTogetherAreSuspectsAndNoneIsCounted) {
  Begin("a", 1);
  Begin("c", 1);
  for (int start = 0; start < 2; ++start) {  // the second finds what the first has noted
    const PendingTrials pending = Find();
    EXPECT_THAT(pending.shared, ElementsAre(1, 3));
    EXPECT_THAT(pending.alone, ElementsAre(0, 2));
  }
  ASSERT_OK_AND_ASSIGN(const Attempts attempts, LoadAttempts(files_, TrialPath("a")));
  EXPECT_EQ(attempts.lost, 0);
}

TEST_F(PendingTrialsTest, TheTasksOfAnArraySeeThatATrialOfAnotherTaskDiedWithTheirs) {
  Begin("a", 1);
  Begin("b", 1);
  EXPECT_THAT(Find({0, 2}, 1).given_up, IsEmpty());
  EXPECT_THAT(Find({1, 3}, 1).given_up, IsEmpty()) << "the other task has noted its own trial's death already";
}

TEST_F(PendingTrialsTest, ATrialThatDiesAloneIsGivenUpAtItsLimitAndTriedAgainWithAGreaterOne) {
  Begin("b", 1);
  EXPECT_THAT(Find().alone, ElementsAre(1));
  Begin("b", 2);
  PendingTrials pending = Find();
  EXPECT_THAT(pending.shared, ElementsAre(0, 2, 3));
  EXPECT_THAT(pending.alone, IsEmpty());
  EXPECT_THAT(pending.given_up, ElementsAre(1));
  ASSERT_OK_AND_ASSIGN(const TrialOutcome outcome, ReadOutcome(files_, TrialPath("b"), plan_.axes, plan_.trials[1]));
  EXPECT_EQ(outcome.status, TrialStatus::kFailed);
  EXPECT_EQ(outcome.code, "ABORTED");
  EXPECT_EQ(outcome.sentence, GivenUp(2).message());
  EXPECT_THAT(Find().given_up, ElementsAre(1)) << "at every start";
  pending = Find({0, 1, 2, 3}, 3);
  EXPECT_THAT(pending.alone, ElementsAre(1));
  EXPECT_THAT(pending.given_up, IsEmpty());
}

TEST_F(PendingTrialsTest, AmongSuspectsThoseWithTheFewestLostAttemptsComeFirst) {
  Begin("a", 1);
  Find();  // a has lost one
  Begin("c", 2);
  Begin("d", 2);
  EXPECT_THAT(Find().alone, ElementsAre(2, 3, 0));
}

}  // namespace
}  // namespace reprise
