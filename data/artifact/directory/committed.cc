#include "data/artifact/directory/committed.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/directory/checkpoint_files.h"
#include "data/artifact/directory/run_directory.h"
#include "data/artifact/format/file_range.h"
#include "data/artifact/format/run_arrays.h"
#include "data/artifact/format/user_block.h"

namespace reprise::internal {
namespace {

std::string SegmentPath(absl::string_view run_directory, const JournalEntry& entry) {
  return JoinPath(SegmentDirectory(run_directory), entry.name);
}

absl::Status Damaged(absl::string_view path, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat(path, ": ", what, "; restore it from a copy, or restart the run in another directory"));
}

// Converts an error of reading the committed file `path`: a missing file is data loss.
absl::Status WithLoss(const absl::Status& status, absl::string_view path) {
  return absl::IsNotFound(status) ? Damaged(path, "it is missing, though the run's journal names it") : status;
}

// Adds a segment to those that were committed before it.
absl::Status Add(const StoredRun& run, const JournalEntry& entry, const std::string& path, Committed* committed) {
  if (committed->segments.empty()) committed->header = run.header;
  if (run.header != committed->header) return Damaged(path, "it belongs to another run");
  if (!run.steps.empty()) {
    if (run.steps.front() <= committed->last_step) return Damaged(path, "its steps do not follow those before it");
    committed->last_step = run.steps.back();
  }
  if (committed->last_step != entry.number) return Damaged(path, "its last step differs from the run's journal");
  for (const CheckpointGroup& group : run.checkpoints) {
    if (!committed->checkpoints
             .emplace(std::make_pair(group.step, group.group), CommittedGroup{group.file_sha256, group.bytes()})
             .second) {
      return Damaged(path, absl::StrCat("its checkpoint of step ", group.step, " is also in an earlier segment"));
    }
  }
  committed->segments.push_back(path);
  return absl::OkStatus();
}

absl::Status VerifyCheckpointFile(FileSystem& files, absl::string_view run_directory, const CommittedGroup& group) {
  const std::string path = CheckpointPath(run_directory, group.file_sha256);
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  RETURN_IF_ERROR(WithLoss(info.status(), path));
  const FileRange whole = {.path = path, .offset = 0, .size = group.bytes, .sha256 = group.file_sha256};
  if (info->size != whole.size) return Damaged(path, "it is damaged: its size is wrong");
  const absl::Status read = CopyRange(files, whole, [](absl::string_view) { return absl::OkStatus(); });
  return absl::IsDataLoss(read) ? Damaged(path, "it is damaged: its SHA-256 differs from its file name") : read;
}

absl::Status ReadAndAdd(FileSystem& files, absl::string_view run_directory, const JournalEntry& entry,
                        Committed* committed) {
  const std::string path = SegmentPath(run_directory, entry);
  ASSIGN_OR_RETURN(const std::string bytes, ReadSegment(files, run_directory, entry));
  const absl::StatusOr<StoredRun> run = ParseRun(bytes);
  if (!run.ok()) return WithContext(run.status(), path);
  return Add(*run, entry, path, committed);
}

absl::Status VerifyCheckpoints(FileSystem& files, absl::string_view run_directory, const Committed& committed,
                               int64_t keep_checkpoints) {
  std::set<Digest> verified;
  const int64_t first_kept = committed.FirstKept(keep_checkpoints);
  for (const auto& [place, group] : committed.checkpoints) {
    if (place.first < first_kept || !verified.insert(group.file_sha256).second) continue;
    RETURN_IF_ERROR(VerifyCheckpointFile(files, run_directory, group));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadSegment(FileSystem& files, absl::string_view run_directory, const JournalEntry& entry) {
  const std::string path = SegmentPath(run_directory, entry);
  if (entry.kind != kSegmentKind || EpochOfSegment(entry.name) == 0 || IsTemporaryName(entry.name)) {
    return absl::UnimplementedError(absl::StrCat("the journal in ", run_directory, " names \"", entry.name,
                                                 "\", of kind \"", entry.kind,
                                                 "\", which this program does not know: use the one that wrote it"));
  }
  absl::StatusOr<std::string> bytes =
      ReadWhole(files, {.path = path, .offset = 0, .size = entry.size, .sha256 = entry.sha256});
  if (absl::IsDataLoss(bytes.status())) return Damaged(path, "it is damaged: it differs from the run's journal");
  RETURN_IF_ERROR(WithLoss(bytes.status(), path));
  return bytes;
}

int64_t Committed::FirstKept(int64_t keep) const {
  std::set<int64_t> steps;
  for (const auto& [place, group] : checkpoints) steps.insert(place.first);
  return FirstKeptStep(steps, keep);
}

absl::StatusOr<Committed> ReadCommitted(FileSystem& files, absl::string_view run_directory,
                                        absl::Span<const JournalEntry> entries, int64_t keep_checkpoints) {
  Committed committed;
  for (const JournalEntry& entry : entries) RETURN_IF_ERROR(ReadAndAdd(files, run_directory, entry, &committed));
  RETURN_IF_ERROR(VerifyCheckpoints(files, run_directory, committed, keep_checkpoints));
  return committed;
}

absl::Status AddSegment(FileSystem& files, absl::string_view run_directory, const JournalEntry& entry,
                        int64_t keep_checkpoints, Committed* committed) {
  RETURN_IF_ERROR(ReadAndAdd(files, run_directory, entry, committed));
  return VerifyCheckpoints(files, run_directory, *committed, keep_checkpoints);
}

}  // namespace reprise::internal
