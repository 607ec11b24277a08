#include "benchmarks/gate/command.h"

#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::gate {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CommandTest, WordsAreSeparatedBySpacesAndPlaceholdersAreReplaced) {
  EXPECT_THAT(CommandWords("a  --output={scratch}/x {prepared}", "/s", "/p"), ElementsAre("a", "--output=/s/x", "/p"));
}

TEST(CommandTest, ProgramsAreNamedByTheirLabels) {
  EXPECT_THAT(LabelsOf("tools/run.sh 2 bazel-bin/pipelines/train configs/a.toml"), ElementsAre("//pipelines:train"));
  EXPECT_THAT(LabelsOf("tools/run.sh 2"), IsEmpty());
}

TEST(ExecuteTest, TheOutputAndTheTimeAreReturned) {
  ASSERT_OK_AND_ASSIGN(const Execution slept, Execute({"/bin/sh", "-c", "sleep 0.1; pwd"}, "/", 10));
  EXPECT_EQ(slept.out, "/\n");
  EXPECT_GE(slept.seconds, 0.1);
}

TEST(ExecuteTest, AnErrorContainsTheLastLineOfTheProgramsStderr) {
  EXPECT_THAT(Execute({"/bin/sh", "-c", "echo one >&2; echo two >&2; exit 3"}, "/", 10),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("ended with exit code 3: /bin/sh -c echo one")));
  EXPECT_THAT(Execute({"/bin/sh", "-c", "echo one >&2; exit 3"}, "/", 10),
              StatusIs(absl::StatusCode::kInternal, ::testing::EndsWith(": one")));
  EXPECT_THAT(Execute({"/bin/sh", "-c", "kill -9 $$"}, "/", 10),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("signal 9")));
}

TEST(ExecuteTest, AMissingProgramIsNotFound) {
  EXPECT_THAT(Execute({"no/such"}, "/", 10), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/such")));
}

TEST(ExecuteTest, AProgramBeyondItsTimeLimitIsKilledWithItsChildren) {
  EXPECT_THAT(Execute({"/bin/sh", "-c", "sleep 60 & wait"}, "/", 0.1),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("took more than 0.1 s")));
}

}  // namespace
}  // namespace reprise::gate
