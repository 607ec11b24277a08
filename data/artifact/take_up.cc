#include "data/artifact/take_up.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/find_run.h"
#include "data/artifact/header_difference.h"
#include "data/artifact/lineage.h"
#include "data/artifact/run_directory.h"
#include "data/artifact/tidy.h"

namespace reprise::internal {
namespace {

absl::Status HoldsRun(absl::string_view directory, absl::string_view what) {
  return absl::AlreadyExistsError(absl::StrCat(directory, " already holds a run (", what,
                                               "): choose another directory, remove it, or go on with it (--resume)"));
}

// Opens the journal of `epoch`, which goes on from `past`.
absl::StatusOr<TakenRun> StartJournal(FileSystem& files, absl::string_view directory, int64_t epoch,
                                      const Lineage& past, Committed committed) {
  RETURN_IF_ERROR(CreateDirectories(files, SegmentDirectory(directory)));
  ASSIGN_OR_RETURN(JournalWriter journal, JournalWriter::Create(files, JournalPath(directory, epoch)));
  // Also makes durable the names in the directory that a process made and did not live to sync.
  RETURN_IF_ERROR(journal.Append({"parent", past.epoch, past.end.bytes, past.end.chain, "-"}));
  return TakenRun{.epoch = epoch, .journal = std::move(journal), .committed = std::move(committed)};
}

absl::Status CheckSameHeader(absl::string_view directory, const RunHeader& stored, const RunHeader& header) {
  const std::string difference = DescribeDifference(stored, header);
  if (difference.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(directory, " holds another run: ", difference,
                                                    "; resume it as it was begun, or choose another directory"));
}

// What can be refused without taking the run from a process that is at it.
absl::Status CheckCanTakeUp(FileSystem& files, absl::string_view directory, const RunHeader& header) {
  ASSIGN_OR_RETURN(const FoundRun found, FindUnfinishedRun(files, directory));
  if (found.stage == RunStage::kFinished) return CheckUnfinished(files, directory);
  if (found.stage == RunStage::kInProgress) return CheckSameHeader(directory, found.header, header);
  if (found.stage == RunStage::kClaimed) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(directory, " holds no run to resume: begin one there without resuming, or check the directory"));
}

absl::StatusOr<TakenRun> TakeUp(FileSystem& files, absl::string_view directory, int64_t epoch, const RunHeader& header,
                                int64_t keep_checkpoints) {
  ASSIGN_OR_RETURN(const Lineage past, ReadLineage(files, directory, epoch));
  ASSIGN_OR_RETURN(Committed committed, ReadCommitted(files, directory, past.entries, keep_checkpoints));
  if (!committed.segments.empty()) RETURN_IF_ERROR(CheckSameHeader(directory, committed.header, header));
  if (past.epoch > 0) {  // its writer may have died before it synced what was read
    ASSIGN_OR_RETURN(const std::unique_ptr<File> journal,
                     files.Open(JournalPath(directory, past.epoch), OpenMode::kAppend));
    RETURN_IF_ERROR(journal->Sync());
    RETURN_IF_ERROR(journal->Close());
  }
  ASSIGN_OR_RETURN(TakenRun taken, StartJournal(files, directory, epoch, past, std::move(committed)));
  RETURN_IF_ERROR(RemoveOrphans(files, directory, epoch, taken.committed.segments));
  RETURN_IF_ERROR(CheckUnfinished(files, directory));  // from here on no older process can finish it
  return taken;
}

// The newest epoch whose journal or segments there are; 0: none.
absl::StatusOr<int64_t> NewestEpochNamed(FileSystem& files, absl::string_view directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  absl::StatusOr<std::vector<std::string>> segments = files.List(SegmentDirectory(directory));
  if (absl::IsNotFound(segments.status())) segments = std::vector<std::string>();
  RETURN_IF_ERROR(segments.status());
  int64_t newest = 0;
  for (const std::string& name : names) newest = std::max(newest, EpochOfJournal(name));
  for (const std::string& name : *segments) newest = std::max(newest, EpochOfSegment(name));
  return newest;
}

}  // namespace

absl::Status CheckFree(FileSystem& files, absl::string_view directory, absl::Span<const absl::string_view> others) {
  const auto check = [&](absl::string_view name) -> absl::Status {
    ASSIGN_OR_RETURN(const bool exists, Exists(files, JoinPath(directory, name)));
    return exists ? HoldsRun(directory, name) : absl::OkStatus();
  };
  for (const absl::string_view name : {"run.h5", "epochs", "segments", "checkpoints", "states"}) {
    RETURN_IF_ERROR(check(name));
  }
  for (const absl::string_view name : others) RETURN_IF_ERROR(check(name));
  const absl::StatusOr<std::vector<std::string>> names = files.List(directory);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (absl::StartsWith(name, "journal.E")) return HoldsRun(directory, name);
  }
  return absl::OkStatus();
}

absl::StatusOr<TakenRun> BeginRun(FileSystem& files, absl::string_view directory) {
  RETURN_IF_ERROR(CreateDirectories(files, directory));
  // Whoever made the directory may have died before its name was durable. One that we may not list is not of our
  // making.
  const absl::Status synced = files.SyncDirectory(DirectoryOf(directory));
  if (!synced.ok() && !absl::IsPermissionDenied(synced)) return synced;
  RETURN_IF_ERROR(CheckFree(files, directory, {}));
  const absl::Status created = files.CreateDirectory(EpochDirectory(directory));  // succeeds for one process only
  if (absl::IsAlreadyExists(created)) return HoldsRun(directory, "epochs");
  RETURN_IF_ERROR(created);
  absl::Status claimed = Claim(files, directory, 1);
  if (absl::IsFailedPrecondition(claimed)) return claimed;  // epochs/ is another process's by now
  // One may have begun and finished a run since the directory was seen to be free.
  if (claimed.ok()) claimed = CheckUnfinished(files, directory);
  if (absl::IsAlreadyExists(claimed)) {
    claimed = absl::AlreadyExistsError(
        absl::StrCat(RunPath(directory), " is there already: another process has finished a run here meanwhile"));
  }
  absl::StatusOr<TakenRun> taken =
      claimed.ok() ? StartJournal(files, directory, 1, Lineage(), Committed()) : absl::StatusOr<TakenRun>(claimed);
  if (!taken.ok()) RemoveBeginning(files, directory);
  return taken;
}

absl::StatusOr<TakenRun> TakeUpRun(FileSystem& files, absl::string_view directory, const RunHeader& header,
                                   int64_t keep_checkpoints) {
  RETURN_IF_ERROR(CheckCanTakeUp(files, directory, header));
  const absl::StatusOr<int64_t> epoch = ClaimEpoch(files, directory);
  if (!epoch.ok()) {
    RETURN_IF_ERROR(CheckUnfinished(files, directory));
    return epoch.status();
  }
  absl::StatusOr<TakenRun> taken = TakeUp(files, directory, *epoch, header, keep_checkpoints);
  if (taken.ok()) return taken;
  const absl::Status unfinished = CheckUnfinished(files, directory);
  return absl::IsAlreadyExists(unfinished) ? unfinished : OrFence(files, directory, *epoch, taken.status());
}

absl::StatusOr<int64_t> ClaimFinishedRun(FileSystem& files, absl::string_view directory) {
  RETURN_IF_ERROR(CheckFinished(files, directory));
  RETURN_IF_ERROR(CreateDirectories(files, EpochDirectory(directory)));
  ASSIGN_OR_RETURN(const int64_t newest, NewestEpochNamed(files, directory));
  // The run's epochs may be gone. An old process that still lives must not find its own again.
  const int64_t unlikely = 100'000'000 + DrawNumber() % 800'000'000;
  ASSIGN_OR_RETURN(const int64_t epoch, ClaimEpoch(files, directory, newest + unlikely));
  RETURN_IF_ERROR(CheckFinished(files, directory));
  return epoch;
}

absl::StatusOr<TakenRun> BeginRewrite(FileSystem& files, absl::string_view directory) {
  ASSIGN_OR_RETURN(const int64_t epoch, ClaimFinishedRun(files, directory));
  absl::StatusOr<TakenRun> taken = StartJournal(files, directory, epoch, Lineage(), Committed());
  absl::Status status = taken.status();
  if (status.ok()) status = RemoveOrphans(files, directory, epoch, {});
  if (!status.ok()) return OrFence(files, directory, epoch, status);
  return taken;
}

absl::Status OrFence(FileSystem& files, absl::string_view directory, int64_t epoch, const absl::Status& status) {
  const absl::Status fence = CheckNotFenced(files, directory, epoch);
  return absl::IsFailedPrecondition(fence) ? fence : status;
}

absl::Status CheckUnfinished(FileSystem& files, absl::string_view directory) {
  const std::string path = RunPath(directory);
  ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
  if (!exists) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(path, " is there already: this run is finished"));
}

absl::Status CheckFinished(FileSystem& files, absl::string_view directory) {
  ASSIGN_OR_RETURN(const bool exists, Exists(files, RunPath(directory)));
  if (exists) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(directory, " holds no finished run: there is no run.h5"));
}

}  // namespace reprise::internal
