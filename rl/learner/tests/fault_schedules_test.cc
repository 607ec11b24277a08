// Random faults in the stages of random ranks, at random speeds of the ranks: no rank waits for ever, all ranks call
// the same collectives, and every rank returns the same failure, which is the first one.
//
// A schedule is a function of its number. REPRISE_FAULT_SCHEDULES sets how many are tried (default 300).

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/checked_communicator.h"
#include "core/comm/testing/thread_communicator.h"
#include "core/random/draw.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/run/execution.h"
#include "rl/run/prepare.h"

namespace reprise::rl {
namespace {

// In the order in which a step comes to them.
enum Place { kDraw, kReward, kNumber, kEvaluate, kCommit, kCheckpoint, kState, kPlaces };

struct Fault {
  int64_t step = 0;  // of training
  Place place = kDraw;
  int rank = 0;

  std::string text() const { return absl::StrCat("fault at place ", place, " of step ", step, " on rank ", rank); }
};

struct Schedule {
  uint64_t number = 0;
  int ranks = 1;
  std::vector<Fault> faults;  // the first first
  int lost_rank = -1;         // a rank that ends at this call; -1: none
  int64_t lost_at = 0;
};

uint64_t DrawForSchedule(uint64_t schedule, uint64_t what, uint64_t which, uint64_t bound) {
  return DrawBelow(schedule, Purpose::kTest, {.step = what, .sample = which}, bound);
}

constexpr int64_t kSteps = 3;

Schedule DrawSchedule(uint64_t number) {
  Schedule schedule;
  schedule.number = number;
  schedule.ranks = 2 + static_cast<int>(DrawForSchedule(number, 0, 0, 4));
  const uint64_t ranks = static_cast<uint64_t>(schedule.ranks);
  for (uint64_t i = 0; i < DrawForSchedule(number, 1, 0, 5); ++i) {
    Fault fault = {1 + static_cast<int64_t>(DrawForSchedule(number, 2, i, kSteps)),
                   static_cast<Place>(DrawForSchedule(number, 3, i, kPlaces)),
                   static_cast<int>(DrawForSchedule(number, 4, i, ranks))};
    if (fault.place >= kCommit) fault.rank = 0;
    schedule.faults.push_back(fault);
  }
  std::sort(schedule.faults.begin(), schedule.faults.end(), [](const Fault& a, const Fault& b) {
    return std::tuple(a.step, a.place, a.rank) < std::tuple(b.step, b.place, b.rank);
  });
  if (DrawForSchedule(number, 5, 0, 4) == 0) {
    schedule.lost_rank = static_cast<int>(DrawForSchedule(number, 6, 0, ranks));
    schedule.lost_at = 1 + static_cast<int64_t>(DrawForSchedule(number, 7, 0, 80));
  }
  return schedule;
}

absl::Status StatusAt(const Schedule& schedule, int64_t step, Place place, int rank) {
  for (const Fault& fault : schedule.faults) {
    if (fault.step == step && fault.place == place && fault.rank == rank) return absl::DataLossError(fault.text());
  }
  return absl::OkStatus();
}

// Delays its rank before and after some calls, and loses it at the schedule's call.
class UnevenCommunicator : public Communicator {
 public:
  UnevenCommunicator(const Schedule& schedule, Communicator& inner, std::atomic<bool>* was_lost)
      : Communicator(inner.rank(), inner.size(), inner.ranks_on_this_machine()),
        schedule_(schedule),
        inner_(inner),
        was_lost_(*was_lost) {}

  void ReportFailure() override { inner_.ReportFailure(); }
  bool PeerHasFailed() override { return inner_.PeerHasFailed(); }
  absl::Status TakeFailures(absl::Span<const int> ranks) override { return inner_.TakeFailures(ranks); }

 private:
  absl::Status Stumble() {
    const int64_t call = position().calls;
    if (rank() == schedule_.lost_rank && call >= schedule_.lost_at) {
      was_lost_ = true;
      return absl::UnavailableError("lost");
    }
    const uint64_t which = static_cast<uint64_t>(call * size() + rank());
    const uint64_t microseconds =
        DrawForSchedule(schedule_.number, 8, which, 4) == 0 ? DrawForSchedule(schedule_.number, 9, which, 50) : 0;
    if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    return absl::OkStatus();
  }

  absl::Status DoBarrier() override {
    RETURN_IF_ERROR(Stumble());
    return inner_.Barrier();
  }
  absl::Status DoBroadcast(int root, absl::Span<std::byte> bytes) override {
    RETURN_IF_ERROR(Stumble());
    return inner_.Broadcast(root, bytes);
  }
  absl::Status DoGatherv(int root, absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                         absl::Span<std::byte> receive) override {
    RETURN_IF_ERROR(Stumble());
    return inner_.Gatherv(root, send, counts, receive);
  }
  absl::Status DoAllgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                            absl::Span<std::byte> receive) override {
    RETURN_IF_ERROR(Stumble());
    return inner_.Allgatherv(send, counts, receive);
  }
  absl::StatusOr<std::unique_ptr<PendingCollective>> DoStartAlltoallv(
      absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts, absl::Span<std::byte> receive,
      absl::Span<const int64_t> receive_counts) override {
    RETURN_IF_ERROR(Stumble());
    return inner_.StartAlltoallv(send, send_counts, receive, receive_counts);
  }
  absl::StatusOr<std::unique_ptr<Communicator>> DoSplit(int color) override {
    RETURN_IF_ERROR(Stumble());
    return inner_.Split(color);
  }
  absl::Status DoSumInAnyOrder(absl::Span<float> values) override {
    RETURN_IF_ERROR(Stumble());
    return inner_.SumInAnyOrder(values);
  }

  const Schedule& schedule_;
  Communicator& inner_;
  std::atomic<bool>& was_lost_;
};

// A workload with the schedule's faults; what a rank does alone fails on that rank alone.
class FaultyWorkload : public Workload {
 public:
  FaultyWorkload(const Schedule& schedule, std::unique_ptr<Workload> inner, Communicator& comm)
      : schedule_(schedule), inner_(std::move(inner)), comm_(comm) {}

  Policy& policy() override { return inner_->policy(); }
  const RewardColumns& rewards() const override { return inner_->rewards(); }
  bool may_lack_decisions() const override { return inner_->may_lack_decisions(); }

  absl::StatusOr<StepEpisodes> Draw(const StepPart& part) override {
    step_ = part.phase == Phase::kTraining ? part.step : 0;
    ASSIGN_OR_RETURN(StepEpisodes episodes, inner_->Draw(part));
    RETURN_IF_ERROR(AgreeOk(comm_, StatusAt(schedule_, step_, kDraw, comm_.rank())));
    const bool spoils = !StatusAt(schedule_, step_, kNumber, comm_.rank()).ok();
    for (EpisodeRecord& episode : episodes.episode_N) {
      if (spoils && !episode.logprobs.empty()) episode.logprobs[0] = std::numeric_limits<float>::quiet_NaN();
    }
    return episodes;
  }
  absl::Status Reward(absl::Span<const TaskRecord> task_P, absl::Span<EpisodeRecord> episode_N) override {
    RETURN_IF_ERROR(inner_->Reward(task_P, episode_N));
    return StatusAt(schedule_, step_, kReward, comm_.rank());
  }
  absl::StatusOr<std::vector<double>> PromptBaselines(const PromptBaselineRequest& request,
                                                      const std::vector<TaskRecord>& task_P) override {
    return inner_->PromptBaselines(request, task_P);
  }
  absl::StatusOr<Metrics> Evaluate(int64_t step, int64_t reporting_step) override {
    ASSIGN_OR_RETURN(Metrics metrics, inner_->Evaluate(step, reporting_step));
    RETURN_IF_ERROR(AgreeOk(comm_, StatusAt(schedule_, step, kEvaluate, comm_.rank())));
    return metrics;
  }
  const RecordSchema& schema() const override { return inner_->schema(); }
  std::vector<StreamTable> EncodeStep(StepRecord part) override { return inner_->EncodeStep(std::move(part)); }
  absl::StatusOr<StepRecord> DecodeStep(const StepTables& step) const override { return inner_->DecodeStep(step); }
  void AddMetrics(const AlgorithmConfig& algorithm, const StepRecord& record, Metrics* metrics) const override {
    inner_->AddMetrics(algorithm, record, metrics);
  }
  NamedCounts execution_counts() const override { return inner_->execution_counts(); }

 private:
  const Schedule& schedule_;
  const std::unique_ptr<Workload> inner_;
  Communicator& comm_;
  int64_t step_ = 0;
};

class FaultyPreparation : public PreparedWorkload {
 public:
  FaultyPreparation(const Schedule& schedule, std::unique_ptr<PreparedWorkload> inner)
      : schedule_(schedule), inner_(std::move(inner)) {}

  Policy& policy() const override { return inner_->policy(); }
  absl::StatusOr<std::unique_ptr<Workload>> Start(const WorkloadRun& run) override {
    ASSIGN_OR_RETURN(std::unique_ptr<Workload> workload, inner_->Start(run));
    return std::make_unique<FaultyWorkload>(schedule_, std::move(workload), run.comm);
  }
  absl::Status ProbeProcess(const Config& config) const override { return inner_->ProbeProcess(config); }
  absl::Status Export(FileSystem& files, const std::string& directory) const override {
    return inner_->Export(files, directory);
  }

 private:
  const Schedule& schedule_;
  const std::unique_ptr<PreparedWorkload> inner_;
};

// Rank 0's sink: keeps nothing, and wants a checkpoint and a state after every step.
class FaultySink : public StepSink {
 public:
  explicit FaultySink(const Schedule& schedule) : schedule_(schedule) {}

  absl::StatusOr<bool> Commit(const StepTables& step) override {
    RETURN_IF_ERROR(At(step.phase, step.step, kCommit));
    return true;
  }
  bool WantsCheckpoint(Phase, int64_t, bool) override { return true; }
  absl::Status Checkpoint(const PolicyState& state) override { return At(state.phase, state.step, kCheckpoint); }
  bool WantsState(Phase, int64_t, bool) override { return true; }
  absl::Status SaveState(const PolicyState& state) override { return At(state.phase, state.step, kState); }

 private:
  absl::Status At(Phase phase, int64_t step, Place place) const {
    return StatusAt(schedule_, phase == Phase::kTraining ? step : 0, place, 0);
  }

  const Schedule& schedule_;
};

Config SmallBandit() {
  Config config;
  config.run.workload = "bandit";
  config.run.steps = kSteps;
  config.run.logical_shards = 8;
  config.bandit.features = 3;
  config.bandit.hidden = "4";
  config.sft.steps = 1;
  config.sft.prompts_per_step = 9;
  config.rollout.prompts_per_step = 9;
  config.rollout.num_generations = 3;
  config.evaluation.every = 1;
  config.evaluation.num_prompts = 8;
  return config;
}

struct Ended {
  std::vector<absl::Status> status_R;
  bool lost = false;  // a rank was lost
};

Ended RunSchedule(const Schedule& schedule, const Config& config) {
  std::vector<absl::Status> status_R(static_cast<size_t>(schedule.ranks));
  std::atomic<bool> was_lost = false;
  FaultySink sink(schedule);
  RunAsRanks(schedule.ranks, [&](Communicator& threads) -> absl::Status {
    UnevenCommunicator uneven(schedule, threads, &was_lost);
    CheckedCommunicator comm(uneven);
    absl::Status& status = status_R[comm.rank()];
    absl::StatusOr<RunParts> parts = PrepareRun(config);
    if (!parts.ok()) return status = parts.status();
    parts->workload = std::make_unique<FaultyPreparation>(schedule, std::move(parts->workload));
    const auto execution = Execution::Create({.config = config, .parts = *parts, .comm = comm, .sink = &sink});
    if (!execution.ok()) return status = execution.status();
    return status = (*execution)->learner().Run(0);
  }).IgnoreError();
  return {std::move(status_R), was_lost.load()};
}

void ExpectTheFirstFailureOnEveryRank(const Schedule& schedule, const Ended& ended) {
  for (const absl::Status& status : ended.status_R) {
    if (ended.lost) {
      // A rank that has a failure of its own returns it (AgreeOk); to the others the lost rank is the failure.
      EXPECT_TRUE(absl::IsUnavailable(status) || !schedule.faults.empty()) << status;
      EXPECT_FALSE(status.ok() || absl::StrContains(status.message(), "do not match")) << status;
      continue;
    }
    EXPECT_EQ(status, ended.status_R[0]);
    if (schedule.faults.empty()) {
      EXPECT_OK(status);
    } else if (schedule.faults[0].place == kNumber) {
      EXPECT_THAT(status, testing::StatusIs(absl::StatusCode::kInternal, ::testing::HasSubstr("nan")));
    } else {
      EXPECT_THAT(status,
                  testing::StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr(schedule.faults[0].text())));
    }
  }
}

// Ends the test program with the schedule's number if one takes minutes.
class DeadlockAlarm {
 public:
  DeadlockAlarm() : thread_([this] { Watch(); }) {}
  ~DeadlockAlarm() {
    number_ = kOver;
    thread_.join();
  }
  void Begin(uint64_t number) { number_ = static_cast<int64_t>(number); }

 private:
  static constexpr int64_t kOver = -1;
  void Watch() {
    int64_t seen = 0;
    for (int idle = 0; number_ != kOver; ++idle) {
      if (number_ != seen) idle = 0;
      seen = number_;
      if (idle > 1200) {
        std::fprintf(stderr, "deadlock in fault schedule %lld\n", static_cast<long long>(seen));
        std::abort();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  std::atomic<int64_t> number_{0};
  std::thread thread_;
};

TEST(FaultSchedulesTest, NeverDeadlockAndEndWithTheFirstFailureOnEveryRank) {
  const char* const wanted = std::getenv("REPRISE_FAULT_SCHEDULES");
  const uint64_t schedules = wanted == nullptr ? 300 : static_cast<uint64_t>(std::atoll(wanted));
  const Config config = SmallBandit();
  DeadlockAlarm alarm;
  int64_t failed = 0, lost = 0;
  for (uint64_t number = 0; number < schedules; ++number) {
    alarm.Begin(number);
    const Schedule schedule = DrawSchedule(number);
    SCOPED_TRACE(absl::StrCat("schedule ", number, ", ", schedule.ranks, " ranks"));
    const Ended ended = RunSchedule(schedule, config);
    ExpectTheFirstFailureOnEveryRank(schedule, ended);
    failed += schedule.faults.empty() ? 0 : 1;
    lost += ended.lost ? 1 : 0;
    if (::testing::Test::HasFailure()) break;
  }
  std::printf("%llu fault schedules, %lld with failures, %lld with a lost rank: 0 deadlocks\n",
              static_cast<unsigned long long>(schedules), static_cast<long long>(failed), static_cast<long long>(lost));
}

}  // namespace
}  // namespace reprise::rl
