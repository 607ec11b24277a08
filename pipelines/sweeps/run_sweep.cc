#include "pipelines/sweeps/run_sweep.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/io/file_lock.h"
#include "core/io/file_system.h"
#include "core/log/progress.h"
#include "core/status/status_macros.h"
#include "data/artifact/find_run.h"
#include "data/artifact/table_file.h"
#include "pipelines/program/program.h"
#include "pipelines/sweeps/stored_plan.h"
#include "pipelines/sweeps/sweep_folder.h"
#include "pipelines/sweeps/trial_outcome.h"
#include "pipelines/training/train_run.h"

namespace reprise {
namespace {

class Sweep {
 public:
  Sweep(const SweepRequest& request, Communicator& comm, Logger& logger)
      : request_(request),
        is_root_(comm.rank() == 0),
        comm_(comm),
        logger_(logger),
        files_(PosixFileSystem()),
        plan_(StoredPlanOf(request.plan)) {}

  absl::StatusOr<std::optional<SweepResult>> Run();

 private:
  absl::StatusOr<std::vector<int64_t>> Open();
  absl::StatusOr<std::vector<int64_t>> AgreeOnPending();
  absl::StatusOr<bool> HasRun(Communicator& team, const std::string& directory);
  absl::Status RunTrial(Communicator& team, int64_t index);
  absl::Status RunTrials(const std::vector<int64_t>& pending);
  void Report(int64_t index, const absl::Status& status);
  absl::StatusOr<SweepResult> End();

  std::string DirectoryOf(int64_t index) const {
    return TrialDirectory(request_.output, plan_.trials[static_cast<size_t>(index)].name);
  }

  const SweepRequest& request_;
  const bool is_root_;
  Communicator& comm_;
  Logger& logger_;
  FileSystem& files_;
  const StoredPlan plan_;

  // On rank 0 only.
  FileLock lock_;
  std::optional<Progress> progress_;
  int64_t ended_ = 0;
};

// Called on rank 0 only. Returns the trials that have not ended.
absl::StatusOr<std::vector<int64_t>> Sweep::Open() {
  RETURN_IF_ERROR(CheckFolder(files_, request_.output, plan_));
  if (request_.check) return std::vector<int64_t>();
  RETURN_IF_ERROR(OpenFolder(files_, request_.output, plan_));
  ASSIGN_OR_RETURN(lock_, LockFolder(request_.output, /*part=*/""));
  std::vector<int64_t> pending;
  for (int64_t i = 0; i < static_cast<int64_t>(plan_.trials.size()); ++i) {
    ASSIGN_OR_RETURN(const bool is_finished, IsFinished(files_, DirectoryOf(i)));
    if (!is_finished) pending.push_back(i);
  }
  if (!pending.empty()) RETURN_IF_ERROR(RemoveTable(files_, request_.output));
  const int64_t trials = static_cast<int64_t>(plan_.trials.size());
  ended_ = trials - static_cast<int64_t>(pending.size());
  progress_.emplace(ProgressOptions{.first_step = ended_, .steps = trials, .unit = "trial"}, &logger_, Seconds);
  return pending;
}

absl::StatusOr<std::vector<int64_t>> Sweep::AgreeOnPending() {
  absl::StatusOr<std::vector<int64_t>> pending = std::vector<int64_t>();
  if (is_root_) pending = Open();
  ASSIGN_OR_RETURN(std::vector<int64_t> agreed, AgreeOk(comm_, std::move(pending)));
  const absl::string_view bytes(reinterpret_cast<const char*>(agreed.data()), agreed.size() * sizeof(int64_t));
  ASSIGN_OR_RETURN(const std::string all, BroadcastBytes(comm_, 0, bytes));
  agreed.resize(all.size() / sizeof(int64_t));
  all.copy(reinterpret_cast<char*>(agreed.data()), all.size());
  return agreed;
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

absl::Status Sweep::RunTrial(Communicator& team, int64_t index) {
  const std::string directory = DirectoryOf(index);
  RETURN_IF_ERROR(AgreeOk(team, team.rank() == 0 ? ClearFailure(files_, directory) : absl::OkStatus()));
  TrainRequest request = {.config = request_.plan.trials[static_cast<size_t>(index)].config, .output = directory};
  ASSIGN_OR_RETURN(request.resume, HasRun(team, directory));
  request.ranks_on_this_machine = request_.ranks_on_this_machine;
  request.interrupt = request_.interrupt;
  // The steps of a trial are in its own files; here is only what needs attention.
  LoggerOptions options;
  options.rank = team.rank();
  options.verbosity = Verbosity::kQuiet;
  Logger logger(options);
  const absl::Status status = TrainRun(request, team, logger).status();
  if (!absl::IsUnavailable(status) || !absl::StrContains(status.message(), "a signal stopped the run")) return status;
  return absl::UnavailableError(absl::StrCat("a signal stopped the sweep in trial ",
                                             plan_.trials[static_cast<size_t>(index)].name,
                                             "; the same command continues it"));
}

// Called on rank 0 of the team that executed the trial.
void Sweep::Report(int64_t index, const absl::Status& status) {
  const std::string& name = plan_.trials[static_cast<size_t>(index)].name;
  if (!status.ok()) logger_.Warning(absl::StrCat("trial ", name, " failed: ", status.message()));
  progress_->Update(++ended_, name);
}

absl::Status Sweep::RunTrials(const std::vector<int64_t>& pending) {
  for (const int64_t index : pending) {
    const absl::Status status = RunTrial(comm_, index);
    if (absl::IsUnavailable(status)) return status;
    absl::Status noted;
    if (is_root_) {
      if (!status.ok()) noted = WriteFailure(files_, DirectoryOf(index), status);
      Report(index, status);
    }
    RETURN_IF_ERROR(AgreeOk(comm_, noted));
  }
  return absl::OkStatus();
}

// Called on rank 0 only.
absl::StatusOr<SweepResult> Sweep::End() {
  ASSIGN_OR_RETURN(std::vector<TrialOutcome> outcomes, ReadOutcomes(files_, request_.output, plan_));
  SweepResult result = {.table = MakeTable(plan_, std::move(outcomes)), .table_digest = {}, .table_sha256 = {}};
  ASSIGN_OR_RETURN(const TableBytes bytes, EncodeTable(result.table));
  RETURN_IF_ERROR(WriteTable(files_, request_.output, bytes));
  ASSIGN_OR_RETURN(const TableFile file, ParseTableFile(bytes.h5, kTableFile));
  result.table_digest = file.digests.run_digest_hex;
  result.table_sha256 = file.digests.file_sha256_hex;
  return result;
}

absl::StatusOr<std::optional<SweepResult>> Sweep::Run() {
  ASSIGN_OR_RETURN(const std::vector<int64_t> pending, AgreeOnPending());
  if (request_.check) return std::nullopt;
  RETURN_IF_ERROR(RunTrials(pending));
  if (is_root_) return AgreeOk(comm_, absl::StatusOr<std::optional<SweepResult>>(End()));
  RETURN_IF_ERROR(AgreeOk(comm_, absl::OkStatus()));
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::optional<SweepResult>> RunSweep(const SweepRequest& request, Communicator& comm, Logger& logger) {
  return Sweep(request, comm, logger).Run();
}

}  // namespace reprise
