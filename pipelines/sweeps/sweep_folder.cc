#include "pipelines/sweeps/sweep_folder.h"

#include <cstdlib>
#include <utility>

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

constexpr int64_t kMostPlanBytes = int64_t{1} << 30;
constexpr int64_t kMostTableBytes = int64_t{1} << 34;

absl::Status DifferentSweep(const std::string& directory, absl::string_view difference) {
  return absl::FailedPreconditionError(absl::StrCat(directory, " contains another sweep: ", difference,
                                                    "; choose another --output, or continue it with its own file"));
}

absl::Status CheckSamePlan(const std::string& directory, const std::string& stored_text, const StoredPlan& plan) {
  if (stored_text == PlanText(plan)) return absl::OkStatus();
  const absl::StatusOr<StoredPlan> parsed = ParsePlan(stored_text);
  if (!parsed.ok()) return WithContext(parsed.status(), JoinPath(directory, kPlanFile));
  const StoredPlan& stored = *parsed;
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
  return DifferentSweep(directory, "it compares its trials in another way");
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

bool IsSweepFolder(FileSystem& files, const std::string& directory) {
  return files.Stat(JoinPath(directory, kPlanFile)).ok();
}

absl::Status CheckFolder(FileSystem& files, const std::string& directory, const StoredPlan& plan) {
  RETURN_IF_ERROR(CheckIsNoFile(directory));
  if (!files.Stat(directory).ok()) return absl::OkStatus();
  const std::string path = JoinPath(directory, kPlanFile);
  ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
  if (!exists) {
    const absl::Status is_free =
        RunWriter::CheckFree(files, directory, {"model", "metrics.jsonl", "execution.jsonl", "trials"});
    if (!absl::IsAlreadyExists(is_free)) return is_free;
    return absl::AlreadyExistsError(
        absl::StrCat(directory, " holds a run, or files of one, and no sweep: choose another --output"));
  }
  ASSIGN_OR_RETURN(const std::string stored, ReadFile(files, path, kMostPlanBytes));
  return CheckSamePlan(directory, stored, plan);
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

absl::StatusOr<FileLock> LockFolder(const std::string& directory, const std::string& part) {
  const std::string path = JoinPath(directory, absl::StrCat("lock", part));
  const std::string job = JobOf("SLURM_JOB_ID");
  std::string holder;
  ASSIGN_OR_RETURN(FileLock lock, FileLock::Try(path, job, &holder));
  if (lock.is_held() || (!job.empty() && holder == job)) return lock;
  return absl::UnavailableError(absl::StrCat("another process", holder.empty() ? "" : absl::StrCat(" (", holder, ")"),
                                             " works on the sweep in ", directory,
                                             ": wait for its end, or stop it; this one has changed nothing"));
}

absl::StatusOr<StoredPlan> ReadPlan(FileSystem& files, const std::string& directory) {
  const std::string path = JoinPath(directory, kPlanFile);
  const absl::StatusOr<std::string> text = ReadFile(files, path, kMostPlanBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(directory, " is not the folder of a sweep: it has no ", kPlanFile));
  }
  RETURN_IF_ERROR(text.status());
  absl::StatusOr<StoredPlan> plan = ParsePlan(*text);
  if (!plan.ok()) return WithContext(plan.status(), path);
  return plan;
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
