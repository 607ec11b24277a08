#include "pipelines/sweeps/run_sweep.h"

#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/log/progress.h"
#include "core/status/status_macros.h"
#include "data/artifact/find_run.h"
#include "data/artifact/table_file.h"
#include "pipelines/program/program.h"
#include "pipelines/sweeps/attempts.h"
#include "pipelines/sweeps/pending_trials.h"
#include "pipelines/sweeps/stage_progress.h"
#include "pipelines/sweeps/stored_plan.h"
#include "pipelines/sweeps/sweep_folder.h"
#include "pipelines/sweeps/teams/assign_trials.h"
#include "pipelines/sweeps/trial_leftovers.h"
#include "pipelines/sweeps/trial_outcome.h"
#include "pipelines/training/interruption.h"
#include "pipelines/training/train_run.h"
#include "pipelines/watchdog/heartbeat.h"
#include "pipelines/watchdog/watchdog.h"
#include "rl/run/workloads.h"

namespace reprise {
namespace {

constexpr absl::string_view kContinues = "the same command continues the sweep";

// Returns whether this rank is the first of a team.
bool LeadsATeam(const std::vector<int>& sizes, int rank) {
  int first = 0;
  for (const int size : sizes) {
    if (rank == first) return true;
    first += size;
  }
  return false;
}

// The operations of the trial's steps; 0 if its workload does not estimate them.
double CountTrialOperations(const rl::Config& config) {
  const auto estimate = rl::KindOf(config).estimate;
  if (estimate == nullptr) return 0;
  const absl::StatusOr<rl::RunCost> cost = estimate(config, /*ranks=*/1, /*threads=*/1);
  return cost.ok() ? cost->operations.total() * static_cast<double>(config.run.steps) : 0;
}

class Sweep {
 public:
  Sweep(const SweepRequest& request, Communicator& comm, Logger& logger)
      : request_(request),
        is_root_(comm.rank() == 0),
        comm_(comm),
        files_(PosixFileSystem()),
        plan_(MakeStoredPlan(request.plan)),
        logger_(logger),
        team_logger_({.rank = LeadsATeam(request.teams, comm.rank()) ? 0 : 1, .verbosity = request.verbosity}) {}

  absl::StatusOr<std::optional<SweepResult>> Run();

 private:
  absl::StatusOr<PendingTrials> Open();
  absl::StatusOr<PendingTrials> AgreeOnPending();
  absl::StatusOr<std::unique_ptr<Watchdog>> StartWatchdog();
  absl::Status RunTrials(const PendingTrials& pending);
  absl::Status Deal(const std::vector<int64_t>& trials, bool alone);
  absl::StatusOr<bool> HasRun(Communicator& team, const std::string& directory);
  absl::Status BeginTrial(const std::string& directory);
  absl::Status EndTrial(int64_t index, const absl::Status& status);
  absl::Status RunTrial(Communicator& team, int64_t index);
  absl::Status Fail(int64_t index, const absl::Status& error);
  void ReportEnd(int64_t index);
  absl::StatusOr<bool> HaveAllEnded();
  absl::StatusOr<std::optional<SweepResult>> End(Watchdog* watchdog);

  bool is_array() const { return request_.tasks > 1; }
  // With one team, rank 0 reports progress; with several, the first rank of each reports its trials.
  Logger& trial_logger() { return request_.teams.size() > 1 ? team_logger_ : logger_; }
  const std::string& TrialNameAt(int64_t index) const { return plan_.trials[index].name; }
  std::string TrialPath(int64_t index) const { return TrialDirectory(request_.output, TrialNameAt(index)); }
  // The name of the task's part of the trials.
  std::string Part() const { return absl::StrCat("task", request_.task, "of", request_.tasks); }

  const SweepRequest& request_;
  const bool is_root_;
  Communicator& comm_;
  FileSystem& files_;
  StoredPlan plan_;
  Logger& logger_;
  Logger team_logger_;

  uint32_t execution_ = 0;  // a random number, the same on all ranks

  // On rank 0 only.
  SweepLock lock_;
  std::optional<Progress> progress_;  // with one team
  int64_t ended_ = 0;
};

// Called on rank 0 only.
absl::StatusOr<PendingTrials> Sweep::Open() {
  // A check reads no files: it takes all of them from the sweep's plan, if there is one.
  if (!request_.check) AddFiles(request_.plan, &plan_);
  TakeStoredFiles(files_, request_.output, request_.plan, &plan_);
  RETURN_IF_ERROR(CheckFolder(files_, request_.output, plan_));
  if (request_.check) return PendingTrials();
  RETURN_IF_ERROR(OpenFolder(files_, request_.output, plan_));
  ASSIGN_OR_RETURN(lock_, LockFolder(request_.output, is_array() ? Part() : ""));
  if (!lock_.folder.excludes()) {
    logger_.Warning(absl::StrCat("the file system of ", request_.output,
                                 " has no locks, so that nothing stops a second sweep there: start none before this "
                                 "one has ended"));
  }
  ASSIGN_OR_RETURN(const bool is_updated, UpdatePlan(files_, request_.output, plan_, is_array()));
  if (is_updated) logger_.Info("[compare] has changed: the trials are kept, and compared anew");
  std::vector<int64_t> trials(plan_.trials.size());
  std::iota(trials.begin(), trials.end(), int64_t{0});
  if (is_array()) trials = TrialsOfTask(trials, request_.task, request_.tasks);
  ASSIGN_OR_RETURN(PendingTrials pending, FindPendingTrials(files_, request_.output, plan_, trials, request_.attempts));
  for (const int64_t i : pending.given_up) {
    ASSIGN_OR_RETURN(const Attempts attempts, LoadAttempts(files_, TrialPath(i)));
    logger_.Warning(absl::StrCat("trial ", TrialNameAt(i), " failed: ", GivenUp(attempts.lost).message()));
  }
  const size_t left = pending.shared.size() + pending.alone.size();
  if (left > 0 && !request_.warning.empty()) logger_.Warning(request_.warning);
  if (left > 0) RETURN_IF_ERROR(RemoveTable(files_, request_.output));
  execution_ = DrawNumber();
  if (request_.teams.size() > 1) return pending;
  ended_ = static_cast<int64_t>(trials.size() - left);
  progress_.emplace(
      ProgressOptions{.first_step = ended_, .steps = static_cast<int64_t>(trials.size()), .unit = "trial"}, &logger_,
      Seconds);
  return pending;
}

absl::StatusOr<PendingTrials> Sweep::AgreeOnPending() {
  absl::StatusOr<PendingTrials> found = PendingTrials();
  if (is_root_) found = Open();
  ASSIGN_OR_RETURN(PendingTrials pending, AgreeOk(comm_, std::move(found)));
  for (std::vector<int64_t>* const trials : {&pending.shared, &pending.alone}) {
    const absl::string_view mine(reinterpret_cast<const char*>(trials->data()), trials->size() * sizeof(int64_t));
    ASSIGN_OR_RETURN(const std::string bytes, BroadcastBytes(comm_, 0, mine));
    trials->resize(bytes.size() / sizeof(int64_t));
    bytes.copy(reinterpret_cast<char*>(trials->data()), bytes.size());
  }
  RETURN_IF_ERROR(comm_.Broadcast(0, AsWritableBytes(absl::MakeSpan(&execution_, 1))));
  ASSIGN_OR_RETURN(const std::string plan, BroadcastBytes(comm_, 0, PlanText(plan_)));
  ASSIGN_OR_RETURN(plan_, AgreeOk(comm_, ParsePlan(plan)));  // with the files' digests, which rank 0 has read
  return pending;
}

// Damage is for TrainRun to report, as a run that exists.
absl::StatusOr<bool> Sweep::HasRun(Communicator& team, const std::string& directory) {
  std::vector<int64_t> exists = {0};
  if (team.rank() == 0) {
    const absl::StatusOr<FoundRun> found = FindRun(files_, directory);
    exists[0] = !found.ok() || found->stage != RunStage::kNone ? 1 : 0;
  }
  RETURN_IF_ERROR(AllreduceMax(team, absl::MakeSpan(exists)));
  return exists[0] != 0;
}

// Called on the first rank of the team, as EndTrial. From now on the attempt counts, whatever ends it.
absl::Status Sweep::BeginTrial(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string set_aside, MoveLeftoversAside(files_, directory));
  if (!set_aside.empty()) {
    trial_logger().Warning(absl::StrCat(directory, " held files of a run, such as its model, and no run: they are in ",
                                        set_aside, " now, and the trial is executed anew"));
  }
  RETURN_IF_ERROR(ClearFailure(files_, directory));
  return BeginAttempt(files_, directory, execution_, LastStepIn(files_, directory));
}

// An attempt that ended for another reason, such as a lost rank, remains open: the next execution judges it.
absl::Status Sweep::EndTrial(int64_t index, const absl::Status& status) {
  const std::string directory = TrialPath(index);
  if (status.ok()) {
    RETURN_IF_ERROR(ForgetAttempts(files_, directory));
    ReportEnd(index);
  } else if (IsInterrupted(status)) {
    return StopAttempt(files_, directory, execution_, LastStepIn(files_, directory));
  }
  return absl::OkStatus();
}

absl::Status Sweep::RunTrial(Communicator& team, int64_t index) {
  const std::string directory = TrialPath(index);
  const bool leads = team.rank() == 0;
  RETURN_IF_ERROR(AgreeOk(team, leads ? BeginTrial(directory) : absl::OkStatus()));
  TrainRequest request = {.config = request_.plan.trials[index].config, .output = directory};
  ASSIGN_OR_RETURN(request.resume, HasRun(team, directory));
  request.interrupt = request_.interrupt;
  request.remedy = kContinues;
  request.files = plan_.trials[index].files;
  // The steps of a trial are in its own files; here is only what needs attention.
  Logger logger({.rank = team.rank(), .verbosity = Verbosity::kQuiet, .prefix = TrialNameAt(index) + ": "});
  const absl::Status status = TrainRun(request, team, logger).status();
  if (leads) RETURN_IF_ERROR(EndTrial(index, status));
  if (!IsInterrupted(status)) return status;
  return absl::UnavailableError(
      absl::StrCat("a signal stopped the sweep in trial ", TrialNameAt(index), "; the same command continues it"));
}

// Called on rank 0 of the team that executed the trial, as ReportEnd.
absl::Status Sweep::Fail(int64_t index, const absl::Status& error) {
  ASSIGN_OR_RETURN(const bool has_run, Exists(files_, JoinPath(TrialPath(index), "run.h5")));
  if (has_run) {  // the run counts; what failed came after it
    trial_logger().Warning(
        absl::StrCat("trial ", TrialNameAt(index), " is complete, but not its model: ", error.message()));
    RETURN_IF_ERROR(ForgetAttempts(files_, TrialPath(index)));
    ReportEnd(index);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(WriteFailure(files_, TrialPath(index), error));
  RETURN_IF_ERROR(ForgetAttempts(files_, TrialPath(index)));
  trial_logger().Warning(absl::StrCat("trial ", TrialNameAt(index), " failed: ", error.message()));
  ReportEnd(index);
  return absl::OkStatus();
}

void Sweep::ReportEnd(int64_t index) {
  if (progress_) {
    progress_->Update(++ended_, TrialNameAt(index));
  } else {
    trial_logger().Info(absl::StrCat("trial ", TrialNameAt(index), " has ended"));
  }
}

absl::Status Sweep::Deal(const std::vector<int64_t>& trials, bool alone) {
  TeamPlan teams = {.sizes = request_.teams, .directory = JoinPath(request_.output, "dealing"), .one_at_a_time = alone};
  if (is_array()) teams.part = Part();
  if (teams.sizes.size() > 1 && !alone) {
    for (const int64_t i : trials) {
      teams.costs.push_back(CountTrialOperations(request_.plan.trials[i].config.config));
    }
  }
  return AssignTrials(
      comm_, teams, trials, [this](Communicator& team, int64_t index) { return RunTrial(team, index); },
      [this](int64_t index, const absl::Status& error) { return Fail(index, error); });
}

// Within a team, the ranks of a run watch each other; these watchdogs watch all ranks also before, between and after
// the trials.
absl::StatusOr<std::unique_ptr<Watchdog>> Sweep::StartWatchdog() {
  const rl::ExecutionConfig& execution = request_.plan.trials[0].config.config.execution;
  if (request_.check || !execution.watchdog) return std::unique_ptr<Watchdog>();
  constexpr WatchedWork kSweep = {.name = "sweep", .remedy = kContinues};
  return AgreeOk(comm_, Watchdog::Start(comm_, execution.watchdog_seconds, kSweep));
}

absl::Status Sweep::RunTrials(const PendingTrials& pending) {
  RETURN_IF_ERROR(Deal(pending.shared, /*alone=*/false));
  if (pending.alone.empty()) return absl::OkStatus();
  logger_.Info(absl::StrCat("earlier executions of the sweep died in ", pending.alone.size(),
                            pending.alone.size() == 1 ? " trial, which is" : " trials, which are",
                            " executed alone now"));
  return Deal(pending.alone, /*alone=*/true);
}

absl::StatusOr<bool> Sweep::HaveAllEnded() {
  for (int64_t i = 0; i < static_cast<int64_t>(plan_.trials.size()); ++i) {
    ASSIGN_OR_RETURN(const bool has_run, Exists(files_, JoinPath(TrialPath(i), "run.h5")));
    ASSIGN_OR_RETURN(const bool has_failed, Exists(files_, JoinPath(TrialPath(i), kFailureFile)));
    if (!has_run && !has_failed) return false;
  }
  return true;
}

// Called on rank 0 only. Other tasks of an array may write the same table at the same time.
absl::StatusOr<std::optional<SweepResult>> Sweep::End(Watchdog* watchdog) {
  if (is_array()) {
    ASSIGN_OR_RETURN(const bool have_all_ended, HaveAllEnded());
    if (!have_all_ended) {
      logger_.Info("trials of other tasks have not ended; the task that ends last writes the table");
      return std::nullopt;
    }
  }
  StageProgress progress(&logger_, "for the table");
  const auto report = [&](absl::string_view what, int64_t done, int64_t all) {
    if (watchdog != nullptr) watchdog->Enter({.kind = RunPhase::kFinish});  // however many trials there are
    progress.Update(what, done, all);
  };
  ASSIGN_OR_RETURN(std::vector<TrialOutcome> outcomes, ReadOutcomes(files_, request_.output, plan_, report));
  SweepResult result = {.table = MakeTable(plan_, std::move(outcomes), report), .table_digest = {}, .table_sha256 = {}};
  ASSIGN_OR_RETURN(const TableBytes bytes, EncodeTable(result.table));
  RETURN_IF_ERROR(WriteTable(files_, request_.output, bytes));
  ASSIGN_OR_RETURN(const TableFile file, ParseTableFile(bytes.h5, kTableFile));
  result.table_digest = file.digests.run_digest_hex;
  result.table_sha256 = file.digests.file_sha256_hex;
  return result;
}

absl::StatusOr<std::optional<SweepResult>> Sweep::Run() {
  ASSIGN_OR_RETURN(std::unique_ptr<Watchdog> watchdog, StartWatchdog());
  ASSIGN_OR_RETURN(const PendingTrials pending, AgreeOnPending());
  if (request_.check) return std::nullopt;
  if (watchdog != nullptr) {
    RETURN_IF_ERROR(watchdog->WatchOthers(comm_, request_.output));
    watchdog->Enter({.kind = RunPhase::kSweep});
  }
  RETURN_IF_ERROR(RunTrials(pending));
  if (watchdog != nullptr) watchdog->Enter({.kind = RunPhase::kFinish});
  absl::StatusOr<std::optional<SweepResult>> result = std::nullopt;
  if (is_root_) result = End(watchdog.get());
  result = AgreeOk(comm_, std::move(result));
  watchdog.reset();
  // Heartbeats of executions that were killed; tasks of an array cannot tell them from each other's.
  if (is_root_ && !is_array()) RemoveHeartbeats(JoinPath(request_.output, "watchdog"));
  return result;
}

}  // namespace

absl::StatusOr<std::optional<SweepResult>> RunSweep(const SweepRequest& request, Communicator& comm, Logger& logger) {
  return Sweep(request, comm, logger).Run();
}

}  // namespace reprise
