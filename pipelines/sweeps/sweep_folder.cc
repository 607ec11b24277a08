#include "pipelines/sweeps/sweep_folder.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/directory_entry.h"
#include "core/io/read_file.h"
#include "core/parallel/activity.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/run_writer.h"
#include "data/artifact/table_file.h"
#include "pipelines/stored/stored_run.h"
#include "pipelines/sweeps/table_markdown.h"
#include "pipelines/sweeps/table_streams.h"
#include "pipelines/sweeps/trial_outcome.h"
#include "pipelines/sweeps/trials/trial_facts.h"

namespace reprise {
namespace {

constexpr int64_t kMostPlanBytes = int64_t{1} << 27;

absl::Status DifferentSweep(const std::string& directory, absl::string_view difference) {
  return absl::FailedPreconditionError(absl::StrCat(directory, " contains another sweep: ", difference,
                                                    "; choose another --output, or continue it with its own file"));
}

absl::StatusOr<StoredPlan> ParseStoredPlan(const std::string& directory, const std::string& text) {
  absl::StatusOr<StoredPlan> plan = ParsePlan(text);
  if (plan.ok()) return plan;
  return absl::DataLossError(absl::StrCat(JoinPath(directory, kPlanFile), ": ", plan.status().message(),
                                          "; remove it, and the command that started the sweep writes it again"));
}

// FailedPrecondition, with a remedy, if a name that a sweep writes in its folder belongs to something else: a link,
// which leads out of the folder, a directory in the place of a file, or a file in that of a directory.
absl::Status CheckPlaces(const std::string& directory, const StoredPlan& plan) {
  for (const char* const name : {kPlanFile, kTableFile, kCsvFile, kMarkdownFile}) {
    RETURN_IF_ERROR(CheckTakesFile(JoinPath(directory, name)));
  }
  for (const char* const name : {"trials", "dealing", "watchdog"}) {
    RETURN_IF_ERROR(CheckTakesDirectory(JoinPath(directory, name)));
  }
  for (const PlannedTrial& trial : plan.trials) {
    RETURN_IF_ERROR(CheckTakesDirectory(TrialDirectory(directory, trial.name)));
  }
  return absl::OkStatus();
}

// What follows from a trial's configuration and files is altered where it does not.
absl::Status AlteredPlan(const std::string& directory, const PlannedTrial& trial, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(JoinPath(directory, kPlanFile), ": the ", what, " of trial ", trial.name,
                                          " is not that of its configuration and files, so that the plan was altered; "
                                          "remove it, and the command that started the sweep writes it again"));
}

// How a stored plan is related to one with the same trials.
enum class PlanChange { kNone, kComparison, kFiles };

// Files that could not be read are not compared.
absl::Status CheckSameFiles(const std::string& directory, const PlannedTrial& stored, const PlannedTrial& plan) {
  if (stored.files.empty() || plan.files.empty() || stored.files == plan.files) return absl::OkStatus();
  const std::string name = FirstOtherFile(stored.files, plan.files);
  return absl::FailedPreconditionError(
      absl::StrCat(name, " of trial ", plan.name, " is another file than when the sweep in ", directory,
                   " began, so that its trials could not be compared: restore the file, or choose another --output"));
}

// Returns what has changed; an error if it is another sweep, or if it reads other files.
absl::StatusOr<PlanChange> CompareWithStored(const std::string& directory, const std::string& stored_text,
                                             const StoredPlan& plan) {
  if (stored_text == PlanText(plan)) return PlanChange::kNone;
  ASSIGN_OR_RETURN(StoredPlan stored, ParseStoredPlan(directory, stored_text));
  const StoredPlan before = stored;
  stored.compare = plan.compare;
  const bool is_other_comparison = PlanText(stored) != PlanText(before);
  if (PlanText(stored) == PlanText(plan)) return PlanChange::kComparison;
  if (stored.trials.size() != plan.trials.size()) {
    return DifferentSweep(directory,
                          absl::StrCat("it has ", stored.trials.size(), " trials, this one has ", plan.trials.size()));
  }
  for (size_t i = 0; i < plan.trials.size(); ++i) {
    const PlannedTrial &theirs = stored.trials[i], &ours = plan.trials[i];
    if (theirs.name != ours.name) {
      return DifferentSweep(directory, absl::StrCat("its trial ", i, " is ", theirs.name, ", here it is ", ours.name));
    }
    if (theirs.config_sha256 != ours.config_sha256) {
      return DifferentSweep(directory, absl::StrCat("its trial ", ours.name, " has another configuration"));
    }
    RETURN_IF_ERROR(CheckSameFiles(directory, theirs, ours));
    if (theirs.seed != ours.seed) return AlteredPlan(directory, ours, "seed");
    const bool has_same_files = theirs.files == ours.files;
    if (has_same_files && theirs.problem != ours.problem) return AlteredPlan(directory, ours, "problem");
    if (!theirs.files.empty() || ours.files.empty()) continue;
    stored.trials[i].files = ours.files;  // which could not be read before, and what depends on them
    stored.trials[i].problem = ours.problem;
    stored.trials[i].settings = ours.settings;
  }
  if (PlanText(stored) != PlanText(plan)) return DifferentSweep(directory, "it varies other keys");
  return is_other_comparison ? PlanChange::kComparison : PlanChange::kFiles;
}

// Another process may write the same bytes at the same time.
absl::Status WriteIfOther(FileSystem& files, const std::string& path, const std::string& bytes) {
  absl::Status written;
  for (int attempt = 0; attempt < 10; ++attempt) {
    RETURN_IF_ERROR(CheckTakesFile(path));
    ASSIGN_OR_RETURN(const bool is_written, HasContents(files, path, bytes));
    if (is_written) return absl::OkStatus();
    const absl::Status removed = files.Unlink(path);
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
    written = WriteFileAtomically(files, path, bytes);
    if (!absl::IsAlreadyExists(written)) return written;
  }
  return written;
}

// AlreadyExists for a file with the name of a sweep's table in a directory without a plan, unless sweep.h5 shows that
// it is that of a sweep, which has lost its plan: it would be replaced.
absl::Status CheckHasNoForeignTable(FileSystem& files, const std::string& directory) {
  const absl::StatusOr<std::string> table = ReadTableFile(files, JoinPath(directory, kTableFile));
  if (table.ok() && ParseTableFile(*table, kTableFile).ok()) return absl::OkStatus();
  for (const char* const name : {kTableFile, kCsvFile, kMarkdownFile}) {
    ASSIGN_OR_RETURN(const bool exists, Exists(files, JoinPath(directory, name)));
    if (!exists) continue;
    return absl::AlreadyExistsError(absl::StrCat(directory, " holds ", name, " and no ", kPlanFile,
                                                 ", so that it is not known to be of a sweep: move it away, or "
                                                 "choose another --output"));
  }
  return absl::OkStatus();
}

std::string ReadJobId(const char* variable) {
  const char* const job = std::getenv(variable);
  return job == nullptr ? "" : absl::StrCat("Slurm job ", job);
}

}  // namespace

absl::Status CheckFolder(FileSystem& files, const std::string& directory, const StoredPlan& plan) {
  RETURN_IF_ERROR(CheckIsNoFile(directory));
  RETURN_IF_ERROR(CheckIsInNoSweep(files, directory));
  RETURN_IF_ERROR(CheckPlaces(directory, plan));
  if (!files.Stat(directory).ok()) return absl::OkStatus();
  const std::string path = JoinPath(directory, kPlanFile);
  ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
  if (!exists) {
    const absl::Status is_free = RunWriter::CheckFree(files, directory, {"model", "metrics.jsonl", "execution.jsonl"});
    if (is_free.ok()) return CheckHasNoForeignTable(files, directory);
    if (!absl::IsAlreadyExists(is_free)) return is_free;
    return absl::AlreadyExistsError(
        absl::StrCat(directory, " holds a run, or files of one, and no sweep: choose another --output"));
  }
  ASSIGN_OR_RETURN(const std::string stored, ReadFile(files, path, kMostPlanBytes));
  return CompareWithStored(directory, stored, plan).status();
}

absl::Status OpenFolder(FileSystem& files, const std::string& directory, const StoredPlan& plan) {
  RETURN_IF_ERROR(CheckFolder(files, directory, plan));
  const std::string path = JoinPath(directory, kPlanFile);
  ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
  if (!exists) {
    RETURN_IF_ERROR(CreateDirectories(files, directory));
    const absl::Status written = WriteFileAtomically(files, path, PlanText(plan));
    // Another task of the same array may have been faster.
    if (absl::IsAlreadyExists(written)) return CheckFolder(files, directory, plan);
    RETURN_IF_ERROR(written);
  }
  return CreateDirectories(files, JoinPath(directory, "trials"));
}

void TakeStoredFiles(FileSystem& files, const std::string& directory, const SweepPlan& sweep, StoredPlan* plan) {
  const absl::StatusOr<StoredPlan> stored = ReadPlan(files, directory);
  if (!stored.ok() || stored->trials.size() != plan->trials.size()) return;  // for CheckFolder to report
  for (size_t i = 0; i < plan->trials.size(); ++i) {
    const PlannedTrial& theirs = stored->trials[i];
    PlannedTrial& ours = plan->trials[i];
    if (!ours.files.empty() || theirs.files.empty() || theirs.config_sha256 != ours.config_sha256) continue;
    SetFiles(StoredText(sweep.trials[i].config.config), theirs.files, plan->axes, &ours);
  }
}

absl::StatusOr<bool> UpdatePlan(FileSystem& files, const std::string& directory, const StoredPlan& plan, bool is_task) {
  const std::string path = JoinPath(directory, kPlanFile);
  ASSIGN_OR_RETURN(const std::string stored, ReadFile(files, path, kMostPlanBytes));
  ASSIGN_OR_RETURN(const PlanChange change, CompareWithStored(directory, stored, plan));
  if (change == PlanChange::kNone) return false;
  if (is_task) {
    const bool is_comparison = change == PlanChange::kComparison;
    return absl::FailedPreconditionError(absl::StrCat(
        directory,
        is_comparison ? " compares its trials in another way" : " has trials whose files could not be read before",
        ": once no task works on the sweep, the same command without --tasks keeps the trials and ",
        is_comparison ? "changes [compare]" : "executes those"));
  }
  RETURN_IF_ERROR(RemoveTable(files, directory));
  RETURN_IF_ERROR(WriteIfOther(files, path, PlanText(plan)));
  return change == PlanChange::kComparison;
}

absl::StatusOr<SweepLock> LockFolder(const std::string& directory, const std::string& part) {
  const std::string job = ReadJobId("SLURM_JOB_ID");
  SweepLock lock;
  const auto take = [&](const std::string& name, const std::string& note, FileLock::Sharing sharing,
                        FileLock* taken) -> absl::Status {
    std::string holder;
    ASSIGN_OR_RETURN(*taken, FileLock::Try(JoinPath(directory, name), note, &holder, sharing));
    if (taken->is_held() || (!job.empty() && holder == note)) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("another process", holder.empty() ? "" : absl::StrCat(" (", holder, ")"),
                                               " works on the sweep in ", directory,
                                               ": wait for its end, or stop it; this one has changed nothing"));
  };
  if (part.empty()) {
    RETURN_IF_ERROR(take("lock", job, FileLock::Sharing::kAlone, &lock.folder));
    return lock;
  }
  const std::string task = job.empty() ? "a task" : absl::StrCat(job, ", a task");
  RETURN_IF_ERROR(take("lock", task, FileLock::Sharing::kShared, &lock.folder));
  const std::string tasks = absl::StrCat("lock.", part.substr(part.find("of")));  // "lock.of2"
  RETURN_IF_ERROR(take(tasks, task, FileLock::Sharing::kShared, &lock.tasks));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, PosixFileSystem().List(directory));
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, "lock.of") || name == tasks) continue;
    FileLock none;  // released at once
    const absl::Status is_free = take(name, task, FileLock::Sharing::kAlone, &none);
    if (absl::IsUnavailable(is_free)) {
      return absl::UnavailableError(absl::StrCat(
          is_free.message(), "; its tasks have another --tasks, by which the trials are shared differently"));
    }
    RETURN_IF_ERROR(is_free);
  }
  RETURN_IF_ERROR(take(absl::StrCat("lock.", part), job, FileLock::Sharing::kAlone, &lock.part));
  return lock;
}

absl::StatusOr<StoredPlan> ReadPlan(FileSystem& files, const std::string& directory) {
  const std::string path = JoinPath(directory, kPlanFile);
  const absl::StatusOr<std::string> text = ReadFile(files, path, kMostPlanBytes);
  if (absl::IsNotFound(text.status())) {
    RETURN_IF_ERROR(CheckIsNoLink(path));  // one that leads nowhere
    return absl::NotFoundError(absl::StrCat(directory, " is not the folder of a sweep: it has no ", kPlanFile));
  }
  RETURN_IF_ERROR(text.status());
  return ParseStoredPlan(directory, *text);
}

absl::StatusOr<std::vector<TrialOutcome>> ReadOutcomes(FileSystem& files, const std::string& directory,
                                                       const StoredPlan& plan, const TableProgress& progress) {
  std::vector<TrialOutcome> outcomes;
  for (const PlannedTrial& trial : plan.trials) {
    ASSIGN_OR_RETURN(TrialOutcome outcome, ReadOutcome(files, TrialDirectory(directory, trial.name), plan.axes, trial));
    outcomes.push_back(std::move(outcome));
    MarkActivity();
    if (progress == nullptr) continue;
    progress("trial", static_cast<int64_t>(outcomes.size()), static_cast<int64_t>(plan.trials.size()));
  }
  return outcomes;
}

absl::StatusOr<bool> HasContents(FileSystem& files, const std::string& path, const std::string& bytes) {
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (absl::IsNotFound(info.status())) return false;
  RETURN_IF_ERROR(info.status());
  const int64_t size = static_cast<int64_t>(bytes.size());
  if (info->is_directory || info->size != size) return false;
  const absl::StatusOr<std::string> stored = ReadFile(files, path, size);
  if (absl::IsNotFound(stored.status())) return false;
  RETURN_IF_ERROR(stored.status());
  return *stored == bytes;
}

absl::StatusOr<TableBytes> EncodeTable(const SweepTable& table) {
  TableBytes bytes;
  ASSIGN_OR_RETURN(bytes.h5, EncodeTableFile(PlanText(table.plan), ToStreams(table)));
  bytes.csv = ToCsv(table);
  bytes.markdown = ToMarkdown(table);
  return bytes;
}

absl::Status WriteTable(FileSystem& files, const std::string& directory, const TableBytes& bytes) {
  RETURN_IF_ERROR(WriteIfOther(files, JoinPath(directory, kTableFile), bytes.h5));
  RETURN_IF_ERROR(WriteIfOther(files, JoinPath(directory, kCsvFile), bytes.csv));
  return WriteIfOther(files, JoinPath(directory, kMarkdownFile), bytes.markdown);
}

absl::Status RemoveTable(FileSystem& files, const std::string& directory) {
  for (const char* const name : {kTableFile, kCsvFile, kMarkdownFile}) {
    RETURN_IF_ERROR(CheckTakesFile(JoinPath(directory, name)));
    const absl::Status removed = files.Unlink(JoinPath(directory, name));
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  }
  return absl::OkStatus();
}

}  // namespace reprise
