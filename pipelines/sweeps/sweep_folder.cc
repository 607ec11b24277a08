#include "pipelines/sweeps/sweep_folder.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/run_writer.h"
#include "data/artifact/table_file.h"
#include "pipelines/stored/stored_run.h"
#include "pipelines/sweeps/table_markdown.h"
#include "pipelines/sweeps/table_streams.h"

namespace reprise {
namespace {

constexpr int64_t kMostPlanBytes = int64_t{1} << 27;
constexpr int64_t kMostTableBytes = int64_t{1} << 34;

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

// Returns whether the plans are the same; false if they have the same trials, which they compare in different ways.
absl::StatusOr<bool> IsSamePlan(const std::string& directory, const std::string& stored_text, const StoredPlan& plan) {
  if (stored_text == PlanText(plan)) return true;
  ASSIGN_OR_RETURN(StoredPlan stored, ParseStoredPlan(directory, stored_text));
  stored.compare = plan.compare;
  if (PlanText(stored) == PlanText(plan)) return false;
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
  }
  return DifferentSweep(directory, "it varies other keys");
}

// Another process may write the same bytes at the same time.
absl::Status WriteIfOther(FileSystem& files, const std::string& path, const std::string& bytes) {
  absl::Status written;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const absl::StatusOr<std::string> stored = ReadFile(files, path, kMostTableBytes);
    if (stored.ok() && *stored == bytes) return absl::OkStatus();
    const absl::Status removed = stored.ok() ? files.Unlink(path) : absl::OkStatus();
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
    written = WriteFileAtomically(files, path, bytes);
    if (!absl::IsAlreadyExists(written)) return written;
  }
  return written;
}

std::string JobOf(const char* variable) {
  const char* const job = std::getenv(variable);
  return job == nullptr ? "" : absl::StrCat("Slurm job ", job);
}

}  // namespace

absl::Status CheckFolder(FileSystem& files, const std::string& directory, const StoredPlan& plan) {
  RETURN_IF_ERROR(CheckIsNoFile(directory));
  RETURN_IF_ERROR(CheckIsInNoSweep(files, directory));
  if (!files.Stat(directory).ok()) return absl::OkStatus();
  const std::string path = JoinPath(directory, kPlanFile);
  ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
  if (!exists) {
    const absl::Status is_free = RunWriter::CheckFree(files, directory, {"model", "metrics.jsonl", "execution.jsonl"});
    if (!absl::IsAlreadyExists(is_free)) return is_free;
    return absl::AlreadyExistsError(
        absl::StrCat(directory, " holds a run, or files of one, and no sweep: choose another --output"));
  }
  ASSIGN_OR_RETURN(const std::string stored, ReadFile(files, path, kMostPlanBytes));
  return IsSamePlan(directory, stored, plan).status();
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

absl::StatusOr<bool> UpdatePlan(FileSystem& files, const std::string& directory, const StoredPlan& plan, bool is_task) {
  const std::string path = JoinPath(directory, kPlanFile);
  ASSIGN_OR_RETURN(const std::string stored, ReadFile(files, path, kMostPlanBytes));
  ASSIGN_OR_RETURN(const bool is_same, IsSamePlan(directory, stored, plan));
  if (is_same) return false;
  if (is_task) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory,
                     " compares its trials in another way: once no task works on the sweep, the same command "
                     "without --tasks keeps the trials and changes [compare]"));
  }
  RETURN_IF_ERROR(RemoveTable(files, directory));
  RETURN_IF_ERROR(WriteIfOther(files, path, PlanText(plan)));
  return true;
}

absl::StatusOr<SweepLock> LockFolder(const std::string& directory, const std::string& part) {
  const std::string job = JobOf("SLURM_JOB_ID");
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
    return absl::NotFoundError(absl::StrCat(directory, " is not the folder of a sweep: it has no ", kPlanFile));
  }
  RETURN_IF_ERROR(text.status());
  return ParseStoredPlan(directory, *text);
}

absl::StatusOr<std::vector<TrialOutcome>> ReadOutcomes(FileSystem& files, const std::string& directory,
                                                       const StoredPlan& plan) {
  std::vector<TrialOutcome> outcomes;
  for (const PlannedTrial& trial : plan.trials) {
    ASSIGN_OR_RETURN(TrialOutcome outcome, ReadOutcome(files, TrialDirectory(directory, trial.name), trial));
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

absl::StatusOr<TableBytes> EncodeTable(const SweepTable& table) {
  TableBytes bytes;
  ASSIGN_OR_RETURN(bytes.h5, EncodeTableFile(PlanText(table.plan), StreamsOf(table)));
  bytes.csv = CsvOf(table);
  bytes.markdown = MarkdownOf(table);
  return bytes;
}

absl::Status WriteTable(FileSystem& files, const std::string& directory, const TableBytes& bytes) {
  RETURN_IF_ERROR(WriteIfOther(files, JoinPath(directory, kTableFile), bytes.h5));
  RETURN_IF_ERROR(WriteIfOther(files, JoinPath(directory, kCsvFile), bytes.csv));
  return WriteIfOther(files, JoinPath(directory, kMarkdownFile), bytes.markdown);
}

absl::Status RemoveTable(FileSystem& files, const std::string& directory) {
  for (const char* const name : {kTableFile, kCsvFile, kMarkdownFile}) {
    const absl::Status removed = files.Unlink(JoinPath(directory, name));
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  }
  return absl::OkStatus();
}

}  // namespace reprise
