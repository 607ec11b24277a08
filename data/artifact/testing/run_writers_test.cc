// A second process takes over the run while the first one is paused before one of its calls, at each of them in turn.
// The first adds nothing more, and the run belongs to the second one. The runs of several processes make the calls of
// the run of one, and some more: of theirs, the test pauses at every CALL_STRIDE-th.

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/testing/status_matchers.h"
#include "data/artifact/directory/lineage.h"
#include "data/artifact/testing/crash_trial.h"
#include "data/artifact/testing/run_scenario.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

constexpr int64_t kSteps = 2;

std::vector<internal::JournalEntry> LineageOf(FileSystem& files) {
  const auto lineage = internal::ReadLineage(files, "run", std::numeric_limits<int64_t>::max());
  EXPECT_OK(lineage);
  return lineage.ok() ? lineage->entries : std::vector<internal::JournalEntry>();
}

bool IsRefusal(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsAlreadyExists(status);
}

// Runs the scenario, and runs `second` before call `call` of its processes if they reach it. Returns the scenario's
// status.
absl::Status Interrupted(const CrashTrial& trial, int64_t call, Wreck& wreck, std::function<void()> second) {
  wreck = trial.Prepared();
  wreck.files->Interrupt(wreck.files->calls() + call, std::move(second));
  const absl::Status status = RunProcesses(trial.scenario(), *wreck.files, wreck.promise);
  wreck.files->Interrupt(-1, nullptr);
  return status;
}

TEST(RunWritersTest, TheRunThatTheSecondFinishesStays) {
  const char* const text = std::getenv("CALL_STRIDE");
  const int64_t others_stride = text == nullptr ? 1 : std::atoll(text);
  int64_t refusals = 0, first = 0, stride = 1;
  for (const Scenario& scenario : AllScenarios(kSteps)) {
    const CrashTrial trial(scenario);
    bool was_interrupted = true;
    for (int64_t call = first++ % stride; was_interrupted && !HasFailure(); call += stride) {
      Wreck wreck;
      was_interrupted = false;
      const absl::Status status = Interrupted(trial, call, wreck, [&] {
        was_interrupted = true;
        Promise promise = wreck.promise;
        const absl::Status finished = scenario.recover(*wreck.files, promise);
        EXPECT_OK(finished) << scenario.name << ", call " << call;
      });
      EXPECT_TRUE(status.ok() || IsRefusal(status)) << scenario.name << ", call " << call << ": " << status;
      refusals += !status.ok();
      // Files that the first process still leaves are removed by the next process that opens the run.
      EXPECT_TRUE(trial.HasAllFiles(*wreck.files)) << "call " << call << ": " << status;
      EXPECT_TRUE(trial.EndsRight(std::move(wreck))) << "call " << call << ": " << status;
    }
    stride = others_stride;
  }
  std::printf("%lld refusals\n", static_cast<long long>(refusals));
  EXPECT_GE(refusals, 500 / others_stride);
}

// The second process, which only takes over the run while the first one is paused.
struct Second {
  std::optional<RunWriter> writer;
  std::vector<internal::JournalEntry> lineage;  // as it found it
};

TEST(RunWritersTest, TheFirstAddsNothingOnceTheSecondHasTakenOver) {
  const RunPlan plan = {.steps = kSteps};
  const CrashTrial trial(AllScenarios(kSteps)[0]);
  bool was_interrupted = true;
  int64_t refusals = 0;
  for (int64_t call = 0; was_interrupted && !HasFailure(); ++call) {
    Wreck wreck;
    Second second;
    was_interrupted = false;
    const absl::Status status = Interrupted(trial, call, wreck, [&] {
      was_interrupted = true;
      auto writer = RunWriter::Resume(*wreck.files, "run", HeaderOf(plan), OptionsOf(plan));
      if (!writer.ok()) return;  // there is no run yet, or it is finished
      EXPECT_OK(CheckPromise(*writer, wreck.promise));
      second.writer = *std::move(writer);
      second.lineage = LineageOf(*wreck.files);
    });
    if (!second.writer.has_value()) {
      EXPECT_OK(status);
      continue;
    }
    ++refusals;
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::HasSubstr("another process")));
    EXPECT_EQ(LineageOf(*wreck.files), second.lineage) << "call " << call;
    EXPECT_OK(CheckPromise(*second.writer, wreck.promise)) << "call " << call;  // nor was it reported as durable
    Promise promise;
    EXPECT_OK(WriteRest(plan, *second.writer, promise));
    EXPECT_TRUE(trial.IsRight(*wreck.files)) << "call " << call;
  }
  EXPECT_GE(refusals, 100);
}

TEST(RunWritersTest, StepsAcknowledgedToTheFirstDuringATakeOverAreKept) {
  const RunPlan plan = {.steps = 4, .steps_per_segment = 1};
  int64_t kept = 0, refused = 0;
  bool was_interrupted = true;
  for (int64_t call = 0; was_interrupted && !HasFailure(); ++call) {
    FakeFileSystem files;
    ASSERT_OK_AND_ASSIGN(RunWriter first, RunWriter::Create(files, "run", HeaderOf(plan), OptionsOf(plan)));
    Promise promise;
    ASSERT_OK(WriteSteps(plan, 1, first, promise));
    was_interrupted = false;
    files.Interrupt(files.calls() + call, [&] {
      was_interrupted = true;
      const absl::Status status = WriteSteps(plan, 3, first, promise);
      EXPECT_TRUE(status.ok() || IsRefusal(status)) << status;
      ++(status.ok() ? kept : refused);
    });
    ASSERT_OK_AND_ASSIGN(const RunWriter second, RunWriter::Resume(files, "run", HeaderOf(plan), OptionsOf(plan)));
    EXPECT_OK(CheckPromise(second, promise)) << "call " << call;
  }
  EXPECT_GE(kept, 5);
  EXPECT_GE(refused, 20);
}

TEST(ClaimEpochTest, ReportsAtEveryCallThatAnotherProcessWasFaster) {
  for (int64_t call = 1;; ++call) {
    FakeFileSystem files;
    EXPECT_OK(files.CreateDirectory("run"));
    EXPECT_OK(files.CreateDirectory("run/epochs"));
    bool was_interrupted = false, is_claimed = false;
    files.Interrupt(files.calls() + call, [&] {  // after the epochs were listed
      was_interrupted = true;
      is_claimed = internal::ClaimEpoch(files, "run").ok();
    });
    const auto epoch = internal::ClaimEpoch(files, "run");
    if (!was_interrupted) break;
    EXPECT_TRUE(is_claimed);
    if (!epoch.ok()) {
      EXPECT_THAT(epoch, StatusIs(absl::StatusCode::kFailedPrecondition,
                                  ::testing::HasSubstr("run: another process is taking over this run at this moment")));
    }
    EXPECT_EQ(internal::ListEpochs(files, "run").value().size(), epoch.ok() ? 2u : 1u) << call;
  }
}

}  // namespace
}  // namespace reprise::testing
