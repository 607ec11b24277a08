#ifndef PIPELINES_SWEEPS_SWEEP_FOLDER_H_
#define PIPELINES_SWEEPS_SWEEP_FOLDER_H_

// The files of a sweep in its folder:
//
//   plan.json                      what the sweep is (stored_plan.h)
//   trials/NAME/                   each trial's run, as `train` writes it; failure.json if it failed
//   trials/NAME/attempts.log       until the trial has ended (attempts.h)
//   sweep.h5 sweep.csv sweep.md    the table, once every trial has ended
//   lock                           held by the process that works on the sweep, or shared by tasks of a job array
//   lock.taskIofN                  held by this task
//
// All functions are for one process, the first of a program's.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/file_lock.h"
#include "core/io/file_system.h"
#include "pipelines/stored/of_sweep.h"
#include "pipelines/sweeps/stored_plan.h"
#include "pipelines/sweeps/sweep_plan.h"
#include "pipelines/sweeps/sweep_table.h"

namespace reprise {

inline constexpr char kTableFile[] = "sweep.h5";
inline constexpr char kCsvFile[] = "sweep.csv";
inline constexpr char kMarkdownFile[] = "sweep.md";

// Checks that the directory is free or holds this sweep, which may compare its trials in another way, and changes
// nothing. FailedPrecondition, naming the first difference and a remedy, if it holds another sweep, or this one with
// other files that its trials read; AlreadyExists if it holds a run, or a table that is not known to be a sweep's;
// InvalidArgument if it is among another sweep's trials. A directory that has lost its plan is free: its trials are
// known by their own configurations. FailedPrecondition, naming it, also for a link, or something of another kind,
// where the sweep writes a file or a directory: nothing outside of the folder is written or removed. DataLoss for a
// plan that gives a trial another seed or problem than its configuration and files have.
absl::Status CheckFolder(FileSystem& files, const std::string& directory, const StoredPlan& plan);

// The same; creates what is missing.
absl::Status OpenFolder(FileSystem& files, const std::string& directory, const StoredPlan& plan);

// Completes the plan's trials whose files cannot be read now, by the digests in the plan in the directory, if there is
// one; what depends on them is derived again. `sweep`: what `plan` was made of.
void TakeStoredFiles(FileSystem& files, const std::string& directory, const SweepPlan& sweep, StoredPlan* plan);

// Makes the stored plan this one, which has the same trials; files of theirs that could not be read before may have
// appeared, and it may compare them in another way: then it returns true. The table, which is no longer theirs, is
// removed. To be called by the process that holds the lock.
// FailedPrecondition, with a remedy, where a task of several would change what the others write.
absl::StatusOr<bool> UpdatePlan(FileSystem& files, const std::string& directory, const StoredPlan& plan, bool is_task);

// Keeps other processes of the machine from working on the sweep. `part` names the part of the sweep that this process
// works on, as "task0of2"; "": all of it, which excludes those that work on parts, as parts of another number of tasks
// exclude each other. Processes of the same Slurm job are one execution and its predecessors, which are fenced off by
// the claims of the trials: they do not exclude each other. Unavailable if another process holds the lock.
struct SweepLock {
  FileLock folder, tasks, part;
};
absl::StatusOr<SweepLock> LockFolder(const std::string& directory, const std::string& part);

// Returns the plan in the directory. NotFound, with a remedy, if it is not that of a sweep.
absl::StatusOr<StoredPlan> ReadPlan(FileSystem& files, const std::string& directory);

// Reads all trials' outcomes; calls `progress`, if it is not null. Errors: those of ReadOutcome.
absl::StatusOr<std::vector<TrialOutcome>> ReadOutcomes(FileSystem& files, const std::string& directory,
                                                       const StoredPlan& plan, const TableProgress& progress = nullptr);

// The table as files.
struct TableBytes {
  std::string h5, csv, markdown;
};

absl::StatusOr<TableBytes> EncodeTable(const SweepTable& table);

// Returns whether the file has these bytes; of one with another size, nothing is read.
absl::StatusOr<bool> HasContents(FileSystem& files, const std::string& path, const std::string& bytes);

// Writes the three files; one that has these bytes already stays.
absl::Status WriteTable(FileSystem& files, const std::string& directory, const TableBytes& bytes);

// Removes the table of an earlier execution, whose trials are executed again.
absl::Status RemoveTable(FileSystem& files, const std::string& directory);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_SWEEP_FOLDER_H_
