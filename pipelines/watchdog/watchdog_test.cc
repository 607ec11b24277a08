#include "pipelines/watchdog/watchdog.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/comm/self_communicator.h"
#include "core/comm/testing/thread_communicator.h"
#include "core/parallel/activity.h"
#include "core/testing/sanitizers.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipelines/watchdog/alarm.h"
#include "pipelines/watchdog/heartbeat.h"
#include "pipelines/watchdog/phase_times.h"
#include "pipelines/watchdog/stacks.h"

namespace reprise {
namespace {

using ::reprise::testing::kHasShadowMemory;
using ::testing::AllOf;
using ::testing::HasSubstr;

Heartbeat Example() {
  Heartbeat heartbeat = {.beat = 17, .rank = 3, .phase = RunPhase{RunPhase::kStep, rl::StepStage::kUpdate}.Pack()};
  DescribeThisProcess(&heartbeat);
  heartbeat.calls = 99;
  heartbeat.last_call = "Allgatherv";
  return heartbeat;
}

std::string Contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string NewDirectory(const std::string& name) {
  const std::string directory = ::testing::TempDir() + "/" + name;
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  return directory;
}

TEST(HeartbeatTest, IsReadAsItWasWritten) {
  const WatchdogFiles files(NewDirectory("beat") + "/now");
  const Heartbeat written = Example();
  EXPECT_EQ(files.Read(3)->state, Heartbeat::kGone);
  ASSERT_TRUE(files.Write(written));
  const std::optional<Heartbeat> read = files.Read(3);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(EncodeHeartbeat(*read), EncodeHeartbeat(written));
  EXPECT_EQ(StartOfProcess(read->pid), read->pid_start);
  EXPECT_GT(read->pid_start, 0);
}

// They name the host.
TEST(HeartbeatTest, OnlyTheOwnerCanReadItsFilesAndReports) {
  const WatchdogFiles files(NewDirectory("private") + "/now");
  ASSERT_TRUE(files.Write(Example()) && files.WriteReport(3, "x") && files.RaiseAlarm("x"));
  using std::filesystem::perms;
  for (const std::string& path : {files.RankPath(3), files.ReportPath(3), files.AlarmPath()}) {
    EXPECT_EQ(std::filesystem::status(path).permissions(), perms::owner_read | perms::owner_write) << path;
  }
}

TEST(HeartbeatTest, OthersFilesStayWhenThoseOfAllRanksAreRemoved) {
  const std::string directory = NewDirectory("mixed"), link = directory + "-link";
  const WatchdogFiles files(directory + "/now");
  ASSERT_TRUE(files.Write(Example()));
  std::ofstream(directory + "/begun.rank1") << EncodeHeartbeat(Example()).substr(0, 12);  // its process was killed
  std::ofstream(directory + "/mine.rank2") << "results of rank 2";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(directory, link);
  RemoveHeartbeats(link);
  EXPECT_TRUE(std::filesystem::exists(files.RankPath(3)));
  RemoveHeartbeats(directory);
  EXPECT_FALSE(std::filesystem::exists(files.RankPath(3)));
  EXPECT_FALSE(std::filesystem::exists(directory + "/begun.rank1"));
  EXPECT_EQ(Contents(directory + "/mine.rank2"), "results of rank 2");
}

// It is written in place: a reader may see the beginning of a new one and the end of an old one.
TEST(HeartbeatTest, IsNotReadFromHalvesOfTwoOrFromOtherBytes) {
  Heartbeat heartbeat = Example();
  const std::string older = EncodeHeartbeat(heartbeat);
  heartbeat.beat += 1;
  heartbeat.calls += 1;
  const std::string newer = EncodeHeartbeat(heartbeat);
  EXPECT_EQ(older.size(), kHeartbeatBytes);
  for (size_t cut = 21; cut < newer.find("\tend"); ++cut) {
    const auto mixed = DecodeHeartbeat(newer.substr(0, cut) + older.substr(cut));
    if (!mixed) continue;  // most cuts
    EXPECT_EQ(mixed->beat, cut > newer.rfind("\t18") + 2 ? 18 : 17) << cut;
  }
  for (const std::string& bytes : {std::string(), std::string(kHeartbeatBytes, '\0'), older.substr(1), older + " "}) {
    EXPECT_FALSE(DecodeHeartbeat(bytes).has_value());
  }
}

TEST(PhaseTest, SurvivesPackingAndHasItsOwnTimes) {
  std::set<int> indices;
  for (const RunPhase::Kind kind : {RunPhase::kPrepare, RunPhase::kStart, RunPhase::kFinish, RunPhase::kPlan,
                                    RunPhase::kSweep, RunPhase::kEvaluate}) {
    const RunPhase phase = {.kind = kind};
    EXPECT_EQ(RunPhase::Unpack(phase.Pack()).text(), phase.text());
    indices.insert(phase.index());
  }
  for (const rl::Phase of : {rl::Phase::kSft, rl::Phase::kTraining}) {
    for (int stage = 0; stage < rl::kNumStepStages; ++stage) {
      const RunPhase phase = {RunPhase::kStep, static_cast<rl::StepStage>(stage), of, 1'000'000'007};
      EXPECT_EQ(RunPhase::Unpack(phase.Pack()).text(), phase.text());
      indices.insert(phase.index());
    }
  }
  EXPECT_EQ(indices.size(), static_cast<size_t>(kNumRunPhases));
  EXPECT_EQ(*indices.rbegin(), kNumRunPhases - 1);
}

TEST(PhaseTest, LimitsFollowTheDurationsOfAPhase) {
  const RunPhase draw = {RunPhase::kStep, rl::StepStage::kDraw};
  PhaseTimes times;
  EXPECT_EQ(PhaseLimit(draw, false, 10, times), 60);
  for (int i = 0; i < 19; ++i) times.Add(draw.index(), 1'000'000);
  EXPECT_EQ(PhaseLimit(draw, false, 10, times), 60);
  times.Add(draw.index(), 1'000'000);
  EXPECT_EQ(PhaseLimit(draw, false, 10, times), 10);
  for (int i = 0; i < 280; ++i) times.Add(draw.index(), 4'000'000'000);
  times.Add(draw.index(), 100'000'000'000);  // one of 301 does not matter
  const double limit = PhaseLimit(draw, false, 10, times);
  EXPECT_GE(limit, 20);
  EXPECT_LE(limit, 25);
  EXPECT_EQ(PhaseLimit({RunPhase::kStep, rl::StepStage::kSave}, true, 10, times), 600);
  EXPECT_EQ(PhaseLimit({RunPhase::kStep, rl::StepStage::kCommit}, true, 10, times), 60);
  EXPECT_EQ(PhaseLimit({.kind = RunPhase::kPrepare}, false, 10, times), 3600);
  EXPECT_EQ(PhaseLimit({.kind = RunPhase::kPlan}, false, 10, times), 600);
  EXPECT_EQ(PhaseLimit({.kind = RunPhase::kEvaluate}, true, 10, times), 60);
  EXPECT_EQ(PhaseLimit({.kind = RunPhase::kSweep}, true, 10, times), std::numeric_limits<double>::infinity());
}

TEST(PhaseTest, BoundsDurationsOfAllLengthsByAQuarter) {
  for (int64_t nanoseconds = 4; nanoseconds < int64_t{1} << 50; nanoseconds = nanoseconds * 9 / 8 + 1) {
    PhaseTimes times;
    times.Add(0, nanoseconds);
    const double seconds = static_cast<double>(nanoseconds) * 1e-9;
    EXPECT_GE(times.P99Seconds(0), seconds);
    EXPECT_LE(times.P99Seconds(0), seconds * 1.2501);
  }
}

TEST(AlarmTest, NamesTheRankThatOthersWaitFor) {
  std::vector<RankFinding> finding_R(3, RankFinding{Example(), true});
  for (int rank = 0; rank < 3; ++rank) finding_R[rank].last->rank = rank;
  finding_R[1].last->calls = 98;
  const Alarm alarm = DescribeAlarm({Hang::kHung, 2, 12.5}, finding_R, 2, 15);
  EXPECT_THAT(alarm.sentence, AllOf(HasSubstr("rank 1 (host "), HasSubstr("hangs, without a sign of life for 12.5 s"),
                                    HasSubstr("update of training step 0, after 98 collectives")));
  EXPECT_EQ(alarm.speaker, 0);
  const std::optional<Alarm> decoded = DecodeAlarm(alarm.Encode());
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->Encode(), alarm.Encode());
  EXPECT_THAT(decoded->answering_R, ::testing::ElementsAre(0, 1, 2));
  EXPECT_FALSE(DecodeAlarm("half of an alar").has_value());
}

TEST(AlarmTest, LetsAnotherRankSpeakForAStoppedRank0AndNamesAllThatAreSilent) {
  std::vector<RankFinding> finding_R(4, RankFinding{Example(), true});
  finding_R[0].answers = finding_R[3].answers = false;
  finding_R[3].last.reset();
  const Alarm alarm = DescribeAlarm({Hang::kSilent, 0, 7}, finding_R, 2, 15);
  EXPECT_EQ(alarm.speaker, 2);
  EXPECT_THAT(alarm.sentence, AllOf(HasSubstr("rank 0 (host "), HasSubstr("is stopped, or its host is lost"),
                                    HasSubstr("so is rank 3")));
  EXPECT_THAT(alarm.table, HasSubstr("rank 3: never seen"));
}

TEST(AlarmTest, NamesARankThatWasStoppedBeforeItsFirstHeartbeatAndNotThoseThatWaitForIt) {
  std::vector<RankFinding> finding_R(3, RankFinding{Example(), true});
  finding_R[2].last->calls = 98;  // it waits in an earlier collective
  finding_R[1] = {};
  const Alarm alarm = DescribeAlarm({Hang::kHung, 2, 57}, finding_R, 2, 60);
  EXPECT_EQ(alarm.sentence,
            "rank 1 was stopped before it gave a sign of life, or has not begun; the others have waited for 57.0 s "
            "(limit 60 s)");
  EXPECT_THAT(alarm.table, HasSubstr("rank 1: never seen"));
}

TEST(AlarmTest, NamesASilentRankAndNotThoseThatWaitForIt) {
  std::vector<RankFinding> finding_R(3, RankFinding{Example(), true});
  finding_R[1].answers = false;
  EXPECT_THAT(DescribeAlarm({Hang::kHung, 2, 57}, finding_R, 2, 60).sentence,
              AllOf(HasSubstr("rank 1 (host "), HasSubstr("is stopped, or its host is lost"),
                    HasSubstr("the others have waited for 57.0 s")));
}

TEST(AlarmTest, ARankThatHangsWhenOthersHaveLeftIsNamedItself) {
  std::vector<RankFinding> finding_R(3, RankFinding{Example(), true});
  finding_R[1].answers = false;
  finding_R[1].last->state = Heartbeat::kGone;
  finding_R[2] = {};  // left before rank 0 read its heartbeat
  finding_R[0].last->rank = 0;
  EXPECT_THAT(DescribeAlarm({Hang::kHung, 0, 57}, finding_R, 0, 60).sentence,
              AllOf(HasSubstr("rank 0 (host "), HasSubstr("hangs, without a sign of life")));
}

// Not inlined, so that its name is in the stack.
__attribute__((noinline)) void SpinUntil(const std::atomic<bool>& stop) {
  while (!stop.load()) {
  }
}

TEST(StacksTest, ShowWhereAnotherThreadIsEvenInALoop) {
  if (kHasShadowMemory) GTEST_SKIP() << "sanitizers delay signals to a thread that makes no calls";
  std::atomic<bool> stop = false;
  std::thread spins([&] { SpinUntil(stop); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::string stacks = StacksOfThisProcess(5);
  stop = true;
  spins.join();
  EXPECT_THAT(stacks, HasSubstr("SpinUntil"));
}

TEST(WatchdogTest, LeavesNothingBehindWhenRanksEnd) {
  const std::string output = NewDirectory("quiet");
  EXPECT_OK(RunAsRanks(3, [&](Communicator& comm) -> absl::Status {
    const absl::StatusOr<std::unique_ptr<Watchdog>> watchdog = Watchdog::Start(comm, 2);
    if (!watchdog.ok()) return watchdog.status();
    if (const absl::Status status = (*watchdog)->WatchOthers(comm, output); !status.ok()) return status;
    for (int step = 1; step <= 30; ++step) {
      (*watchdog)->OnStage(rl::StepStage::kDraw, rl::Phase::kTraining, step);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_TRUE(step < 20 || !std::filesystem::is_empty(output + "/watchdog"));
      if (const absl::Status met = comm.Barrier(); !met.ok()) return met;
    }
    return absl::OkStatus();
  }));
  EXPECT_TRUE(std::filesystem::is_empty(output));
}

// Otherwise a rank that is stopped at the beginning would be missed only much later.
TEST(WatchdogTest, WritesItsFirstHeartbeatAtOnce) {
  const std::string output = NewDirectory("at_once");
  EXPECT_OK(RunAsRanks(2, [&](Communicator& comm) -> absl::Status {
    const absl::StatusOr<std::unique_ptr<Watchdog>> watchdog = Watchdog::Start(comm, /*seconds=*/2000);
    if (!watchdog.ok()) return watchdog.status();
    if (const absl::Status status = (*watchdog)->WatchOthers(comm, output); !status.ok()) return status;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto is_there = [&] {
      if (!std::filesystem::exists(output + "/watchdog")) return false;
      const std::filesystem::directory_iterator files(output + "/watchdog");
      return std::distance(begin(files), end(files)) >= 2;
    };
    while (!is_there() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(is_there()) << "a regular heartbeat comes after 100 seconds";
    return comm.Barrier();
  }));
}

// Loops for ever in a run of a single rank, after enough short steps.
[[noreturn]] void HangAlone(const std::string& output) {
  SelfCommunicator comm;
  const auto watchdog = Watchdog::Start(comm, 0.5);
  if (!watchdog.ok() || !(*watchdog)->WatchOthers(comm, output).ok()) std::_Exit(1);
  for (int step = 1; step <= 40; ++step) (*watchdog)->OnStage(rl::StepStage::kScore, rl::Phase::kTraining, step);
  const std::atomic<bool> never = false;
  SpinUntil(never);
  std::_Exit(2);
}

TEST(WatchdogTest, EndsARunOfASingleRankWithAReportAndItsStacks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string output = NewDirectory("alone"), status = output + "/status";
  setenv("REPRISE_STATUS_FILE", status.c_str(), 1);
  EXPECT_EXIT(HangAlone(output), ::testing::ExitedWithCode(75),
              "the watchdog ended the run: rank 0 .* hangs, .* in score of training step 40");
  EXPECT_EQ(Contents(status), "75\n");
  std::string report;
  for (const auto& entry : std::filesystem::directory_iterator(output + "/watchdog")) {
    if (entry.path().extension() == ".report") report = Contents(entry.path().string());
  }
  EXPECT_THAT(report, HasSubstr("rank 0: host "));
  EXPECT_THAT(report, HasSubstr(kHasShadowMemory ? "Stacks of rank 0" : "SpinUntil"));
}

TEST(WatchdogTest, TakesLessThanAMicrosecondForAPhase) {
  if (kHasShadowMemory) GTEST_SKIP() << "instrumented code is slower";
  SelfCommunicator comm;
  ASSERT_OK_AND_ASSIGN(const auto watchdog, Watchdog::Start(comm, 10));
  constexpr int kPhases = 200'000;
  double best = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    for (int step = 1; step <= kPhases; ++step) watchdog->OnStage(rl::StepStage::kUpdate, rl::Phase::kTraining, step);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / kPhases);
  }
  std::printf("%.0f ns for a phase\n", best * 1e9);
  EXPECT_LT(best, 1e-6);
}

}  // namespace
}  // namespace reprise
