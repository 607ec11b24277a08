#include "data/artifact/directory/resume_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/directory_entry.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/directory/find_unfinished.h"
#include "data/artifact/directory/lineage.h"
#include "data/artifact/directory/run_directory.h"
#include "data/artifact/directory/tidy.h"
#include "data/artifact/format/run_header.h"

namespace reprise::internal {
namespace {

absl::Status HoldsRun(absl::string_view directory, absl::string_view what) {
  return absl::AlreadyExistsError(absl::StrCat(directory, " already holds a run (", what,
                                               "): choose another directory, remove it, or resume it (--resume)"));
}

// Opens the journal of `epoch`, which continues `past`.
absl::StatusOr<ResumedRun> StartJournal(FileSystem& files, absl::string_view directory, int64_t epoch,
                                        const Lineage& past, Committed committed) {
  RETURN_IF_ERROR(CreateDirectories(files, SegmentDirectory(directory)));
  ASSIGN_OR_RETURN(JournalWriter journal, JournalWriter::Create(files, JournalPath(directory, epoch)));
  // This also makes durable the names that a process created in the directory and did not live to sync.
  RETURN_IF_ERROR(journal.Append({kParentKind, past.epoch, past.end.bytes, past.end.chain, "-"}));
  return ResumedRun{
      .epoch = epoch, .journal = std::move(journal), .committed = std::move(committed), .moved_aside = {}};
}

absl::Status CheckSameHeader(absl::string_view directory, const RunHeader& stored, const RunHeader& header) {
  const std::string difference = DescribeDifference(stored, header);
  if (difference.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(directory, " holds another run: ", difference,
                                                    "; resume it as it was started, or choose another directory"));
}

// Refuses what can be refused without taking the run from a process that is writing it.
absl::Status CheckCanResume(FileSystem& files, absl::string_view directory, const RunHeader& header) {
  ASSIGN_OR_RETURN(const FoundRun found, FindUnfinishedRun(files, directory));
  if (found.stage == RunStage::kFinished) return CheckUnfinished(files, directory);
  if (found.stage == RunStage::kInProgress) return CheckSameHeader(directory, found.header, header);
  if (found.stage == RunStage::kClaimed) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(directory, " holds no run to resume: check the directory, or start a run there without --resume"));
}

absl::StatusOr<ResumedRun> ResumeClaimed(FileSystem& files, absl::string_view directory, int64_t epoch,
                                         const RunHeader& header, int64_t keep_checkpoints,
                                         const NextStepAfter& next_step_after) {
  ASSIGN_OR_RETURN(const std::vector<std::string> segments, ListSegments(files, directory, epoch));
  ASSIGN_OR_RETURN(const Lineage past, ReadLineage(files, directory, epoch));
  ASSIGN_OR_RETURN(std::vector<std::string> strays, StraysOf(directory, segments, past));
  ASSIGN_OR_RETURN(Committed committed, ReadCommitted(files, directory, past.entries, keep_checkpoints));
  if (!committed.segments.empty()) RETURN_IF_ERROR(CheckSameHeader(directory, committed.header, header));
  if (past.epoch > 0) {  // its writer may have died before it synced what was just read
    ASSIGN_OR_RETURN(const std::unique_ptr<File> journal,
                     files.Open(JournalPath(directory, past.epoch), OpenMode::kAppend));
    RETURN_IF_ERROR(journal->Sync());
    RETURN_IF_ERROR(journal->Close());
  }
  ASSIGN_OR_RETURN(const std::vector<JournalEntry> adopted,
                   AdoptStrays(files, directory, header, keep_checkpoints, next_step_after, &strays, &committed));
  ASSIGN_OR_RETURN(ResumedRun taken, StartJournal(files, directory, epoch, past, std::move(committed)));
  for (const JournalEntry& entry : adopted) {
    RETURN_IF_ERROR(files.SyncDirectory(SegmentDirectory(directory)));  // the directory's own name must be durable, too
    RETURN_IF_ERROR(taken.journal.Append(entry));
  }
  ASSIGN_OR_RETURN(taken.moved_aside, RemoveOrphans(files, directory, epoch, strays, taken.committed.segments));
  RETURN_IF_ERROR(CheckUnfinished(files, directory));  // from here on no older process can finish the run
  return taken;
}

// Recreates the epochs' directory of a run whose claims are lost. FailedPrecondition if the run has been removed in the
// meantime.
absl::Status RestoreEpochs(FileSystem& files, absl::string_view directory) {
  RETURN_IF_ERROR(CheckUnfinished(files, directory));
  ASSIGN_OR_RETURN(const int64_t named, NewestEpochNamed(files, directory));
  return named > 0 ? CreateDirectories(files, EpochDirectory(directory)) : absl::OkStatus();
}

}  // namespace

absl::Status CheckFree(FileSystem& files, absl::string_view directory, absl::Span<const absl::string_view> others) {
  RETURN_IF_ERROR(CheckNoLinks(directory));
  const auto check = [&](absl::string_view name) -> absl::Status {
    const std::string path = JoinPath(directory, name);
    ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
    ASSIGN_OR_RETURN(const DirectoryEntry entry, LookUp(path));  // a link may lead nowhere
    return exists || entry.is_link ? HoldsRun(directory, name) : absl::OkStatus();
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

absl::StatusOr<ResumedRun> BeginRun(FileSystem& files, absl::string_view directory) {
  RETURN_IF_ERROR(CreateDirectories(files, directory));
  // The process that made the directory may have died before the directory's name was durable. A parent directory that
  // we may not list was not made by us.
  const absl::Status synced = files.SyncDirectory(DirectoryOf(directory));
  if (!synced.ok() && !absl::IsPermissionDenied(synced)) return synced;
  RETURN_IF_ERROR(CheckFree(files, directory, {}));
  const absl::Status created = files.CreateDirectory(EpochDirectory(directory));  // succeeds for one process only
  if (absl::IsAlreadyExists(created)) return HoldsRun(directory, "epochs");
  RETURN_IF_ERROR(created);
  absl::Status claimed = Claim(files, directory, 1);
  if (absl::IsFailedPrecondition(claimed)) return claimed;  // epochs/ now belongs to another process
  // Another process may have started and finished a run since the directory was found to be free.
  if (claimed.ok()) claimed = CheckUnfinished(files, directory);
  if (absl::IsAlreadyExists(claimed)) {
    claimed = absl::AlreadyExistsError(
        absl::StrCat(RunPath(directory), " already exists: another process has finished a run here meanwhile"));
  }
  absl::StatusOr<ResumedRun> taken =
      claimed.ok() ? StartJournal(files, directory, 1, Lineage(), Committed()) : absl::StatusOr<ResumedRun>(claimed);
  if (!taken.ok()) RemoveBeginning(files, directory);
  return taken;
}

absl::StatusOr<ResumedRun> ResumeRun(FileSystem& files, absl::string_view directory, const RunHeader& header,
                                     int64_t keep_checkpoints, const NextStepAfter& next_step_after) {
  RETURN_IF_ERROR(CheckCanResume(files, directory, header));
  ASSIGN_OR_RETURN(const bool has_epochs, Exists(files, EpochDirectory(directory)));
  if (!has_epochs) RETURN_IF_ERROR(RestoreEpochs(files, directory));
  const absl::StatusOr<int64_t> epoch = ClaimEpoch(files, directory);
  if (!epoch.ok()) {
    RETURN_IF_ERROR(CheckUnfinished(files, directory));
    return epoch.status();
  }
  absl::StatusOr<ResumedRun> taken = ResumeClaimed(files, directory, *epoch, header, keep_checkpoints, next_step_after);
  if (taken.ok()) return taken;
  const absl::Status unfinished = CheckUnfinished(files, directory);
  return absl::IsAlreadyExists(unfinished) ? unfinished : OrFence(files, directory, *epoch, taken.status());
}

absl::StatusOr<int64_t> ClaimFinishedRun(FileSystem& files, absl::string_view directory) {
  RETURN_IF_ERROR(CheckFinished(files, directory));
  RETURN_IF_ERROR(CheckNoLinks(directory));
  RETURN_IF_ERROR(CheckClaims(files, directory));
  RETURN_IF_ERROR(CreateDirectories(files, EpochDirectory(directory)));
  // There may be no claim of the run's epochs: a finished run removes them.
  ASSIGN_OR_RETURN(const int64_t epoch, ClaimEpoch(files, directory, UnlikelyEpoch()));
  RETURN_IF_ERROR(CheckFinished(files, directory));
  return epoch;
}

absl::StatusOr<ResumedRun> BeginRewrite(FileSystem& files, absl::string_view directory) {
  ASSIGN_OR_RETURN(const int64_t epoch, ClaimFinishedRun(files, directory));
  const auto begin = [&]() -> absl::StatusOr<ResumedRun> {
    ASSIGN_OR_RETURN(const std::vector<std::string> segments, ListSegments(files, directory, epoch));
    ASSIGN_OR_RETURN(ResumedRun taken, StartJournal(files, directory, epoch, Lineage(), Committed()));
    ASSIGN_OR_RETURN(taken.moved_aside, RemoveOrphans(files, directory, epoch, segments, {RunPath(directory)}));
    return taken;
  };
  absl::StatusOr<ResumedRun> taken = begin();
  if (!taken.ok()) return OrFence(files, directory, epoch, taken.status());
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
  return absl::AlreadyExistsError(absl::StrCat(path, " already exists: this run is finished"));
}

absl::Status CheckFinished(FileSystem& files, absl::string_view directory) {
  ASSIGN_OR_RETURN(const bool exists, Exists(files, RunPath(directory)));
  if (exists) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(directory, " holds no finished run: there is no run.h5"));
}

}  // namespace reprise::internal
