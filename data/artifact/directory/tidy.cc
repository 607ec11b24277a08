#include "data/artifact/directory/tidy.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "core/io/atomic_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/directory/checkpoint_files.h"
#include "data/artifact/directory/lineage.h"
#include "data/artifact/directory/own_files.h"
#include "data/artifact/directory/run_directory.h"
#include "data/artifact/directory/strays.h"
#include "data/artifact/format/container.h"
#include "data/artifact/format/run_arrays.h"

namespace reprise::internal {
namespace {

absl::StatusOr<std::set<Digest>> CheckpointFilesIn(FileSystem& files, absl::string_view directory) {
  std::set<Digest> digests;
  const absl::StatusOr<std::vector<std::string>> names = files.List(CheckpointDirectory(directory));
  if (absl::IsNotFound(names.status())) return digests;
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    const absl::StatusOr<Digest> digest = DigestFromHex(name);
    if (digest.ok()) digests.insert(*digest);
  }
  return digests;
}

// Removes the digests of the files that a run file needs beside it from `digests`.
absl::Status KeepWhatIsNeeded(FileSystem& files, const std::string& path, std::set<Digest>* digests) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadContainerFile(files, path));
  const absl::StatusOr<StoredRun> run = ParseRun(bytes);
  if (!run.ok()) return WithContext(run.status(), path);
  for (const CheckpointGroup& group : run->checkpoints) {
    if (!run->container.Find(TensorPath(group, group.tensors[0])).ok()) digests->erase(group.file_sha256);
  }
  return absl::OkStatus();
}

bool IsAside(absl::string_view name) { return absl::StartsWith(name, "run.") && absl::EndsWith(name, ".h5"); }

// Returns the files that may need checkpoint files besides run.h5: runs that were set aside, and segments that run.h5
// may not contain.
absl::StatusOr<std::vector<std::string>> OtherRunFiles(FileSystem& files, absl::string_view directory) {
  std::vector<std::string> paths;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  for (const std::string& name : names) {
    const std::string path = JoinPath(directory, name);
    if (IsAside(name) && !IsTemporaryName(name) && path != RunPath(directory)) paths.push_back(path);
  }
  absl::StatusOr<std::vector<std::string>> moved = files.List(AsideDirectory(directory));
  if (absl::IsNotFound(moved.status())) moved = std::vector<std::string>();
  RETURN_IF_ERROR(moved.status());
  for (const std::string& name : *moved) {
    if (absl::StartsWith(name, "E")) paths.push_back(JoinPath(AsideDirectory(directory), name));
  }
  return paths;
}

using IsWanted = std::function<bool(absl::string_view name)>;

// Appends the paths of the wanted files in a directory; appends none if the directory does not exist.
absl::Status Collect(FileSystem& files, const std::string& directory, const IsWanted& is_wanted,
                     std::vector<std::string>* paths) {
  const absl::StatusOr<std::vector<std::string>> names = files.List(directory);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (is_wanted(name)) paths->push_back(JoinPath(directory, name));
  }
  return absl::OkStatus();
}

// Removes the paths of files that are not the run's from `paths`.
absl::Status KeepOwn(FileSystem& files, absl::StatusOr<bool> (*is_own)(FileSystem& files, const std::string& path),
                     std::vector<std::string>* paths) {
  std::vector<std::string> own;
  for (std::string& path : *paths) {
    ASSIGN_OR_RETURN(const bool is_own_file, is_own(files, path));
    if (is_own_file) own.push_back(std::move(path));
  }
  *paths = std::move(own);
  return absl::OkStatus();
}

std::vector<std::string> PathsIn(const std::string& directory, absl::Span<const std::string> names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(JoinPath(directory, name));
  return paths;
}

bool IsUpTo(int64_t epoch, int64_t last) { return 0 < epoch && epoch <= last; }

bool IsTemporaryRun(absl::string_view name) { return IsTemporaryName(name) && FinalName(name) == "run.h5"; }

bool IsTemporaryCheckpoint(absl::string_view name) {
  return IsTemporaryName(name) && DigestFromHex(FinalName(name)).ok();
}

bool IsTemporaryClaim(absl::string_view name) { return IsTemporaryName(name) && EpochOf(FinalName(name)) > 0; }

// Appends the paths of files that a killed process left unfinished under temporary names, as far as their contents show
// it. Of a checkpoint's file, whose contents may be anything, the digest in the name has to do.
absl::Status CollectUnfinished(FileSystem& files, absl::string_view run_directory, int64_t epoch,
                               std::vector<std::string>* paths) {
  const auto is_segment = [&](absl::string_view name) {
    return IsTemporaryName(name) && IsUpTo(EpochOfSegment(name), epoch);
  };
  std::vector<std::string> containers, claims;
  RETURN_IF_ERROR(Collect(files, SegmentDirectory(run_directory), is_segment, &containers));
  RETURN_IF_ERROR(Collect(files, std::string(run_directory), IsTemporaryRun, &containers));
  RETURN_IF_ERROR(KeepOwn(files, IsUnfinishedContainer, &containers));
  RETURN_IF_ERROR(Collect(files, EpochDirectory(run_directory), IsTemporaryClaim, &claims));
  RETURN_IF_ERROR(KeepOwn(files, IsUnfinishedClaim, &claims));
  for (const std::vector<std::string>* const own : {&containers, &claims}) {
    paths->insert(paths->end(), own->begin(), own->end());
  }
  return Collect(files, CheckpointDirectory(run_directory), IsTemporaryCheckpoint, paths);
}

// Not an error if the file does not exist.
absl::Status Remove(FileSystem& files, const std::string& path) {
  const absl::Status removed = files.Unlink(path);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

absl::Status RemoveAll(FileSystem& files, absl::Span<const std::string> paths) {
  for (const std::string& path : paths) RETURN_IF_ERROR(Remove(files, path));
  return absl::OkStatus();
}

// Not an error if the directory does not exist or is not empty.
absl::Status RemoveIfEmpty(FileSystem& files, const std::string& directory) {
  const auto is_empty = [&]() -> absl::StatusOr<bool> {
    const absl::StatusOr<std::vector<std::string>> names = files.List(directory);
    if (absl::IsNotFound(names.status())) return false;
    RETURN_IF_ERROR(names.status());
    return names->empty();
  };
  ASSIGN_OR_RETURN(const bool was_empty, is_empty());
  if (!was_empty) return absl::OkStatus();
  const absl::Status removed = files.RemoveDirectory(directory);
  if (removed.ok() || absl::IsNotFound(removed)) return absl::OkStatus();
  const absl::StatusOr<bool> is_still_empty = is_empty();
  return is_still_empty.ok() && !*is_still_empty ? absl::OkStatus() : removed;
}

}  // namespace

absl::StatusOr<std::vector<Digest>> UnreferencedFiles(FileSystem& files, absl::string_view directory) {
  ASSIGN_OR_RETURN(std::set<Digest> digests, CheckpointFilesIn(files, directory));
  if (digests.empty()) return std::vector<Digest>();
  RETURN_IF_ERROR(KeepWhatIsNeeded(files, RunPath(directory), &digests));
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, OtherRunFiles(files, directory));
  for (const std::string& path : paths) {
    const absl::Status read = KeepWhatIsNeeded(files, path, &digests);
    if (!read.ok() && IsFileError(read)) return read;
    if (!read.ok()) return std::vector<Digest>();
  }
  std::vector<Digest> own;
  for (const Digest& digest : digests) {
    ASSIGN_OR_RETURN(const bool is_own, IsOwnCheckpointFile(files, CheckpointPath(directory, digest), digest));
    if (is_own) own.push_back(digest);
  }
  return own;
}

absl::StatusOr<bool> HasPieces(FileSystem& files, absl::string_view directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  for (const std::string& name : names) {
    if (name == "epochs" || name == "segments" || EpochOfJournal(name) > 0) return true;
    if (IsTemporaryRun(name)) return true;
  }
  ASSIGN_OR_RETURN(const std::vector<Digest> unreferenced, UnreferencedFiles(files, directory));
  return !unreferenced.empty();
}

// Checkpoint files have the same name whichever process writes them. So each is first renamed to a name that no other
// process uses: what a later epoch finds or writes under the original name after the fence was checked is kept.
absl::Status RemoveCheckpointFiles(FileSystem& files, absl::string_view run_directory, int64_t epoch,
                                   absl::Span<const Digest> digests) {
  const auto put_back = [&](const std::string& name, const std::string& path) {
    const absl::Status renamed = files.RenameNoReplace(name, path);
    if (absl::IsAlreadyExists(renamed)) return Remove(files, name);
    return absl::IsNotFound(renamed) ? absl::OkStatus() : renamed;  // a later epoch removed it as a leftover
  };
  std::vector<std::pair<std::string, std::string>> renamed;
  for (const Digest& digest : std::set<Digest>(digests.begin(), digests.end())) {
    const std::string path = CheckpointPath(run_directory, digest);
    std::string name = TemporaryName(path);
    const absl::Status moved = files.RenameNoReplace(path, name);
    if (absl::IsNotFound(moved)) continue;
    RETURN_IF_ERROR(moved);
    renamed.emplace_back(std::move(name), path);
  }
  if (renamed.empty()) return absl::OkStatus();
  const absl::Status fence = CheckNotFenced(files, run_directory, epoch);
  for (const auto& [name, path] : renamed) RETURN_IF_ERROR(fence.ok() ? Remove(files, name) : put_back(name, path));
  return fence;
}

absl::StatusOr<std::vector<std::string>> RemoveOrphans(FileSystem& files, absl::string_view run_directory,
                                                       int64_t epoch, absl::Span<const std::string> strays,
                                                       absl::Span<const std::string> holders) {
  const std::string segment_directory = SegmentDirectory(run_directory);
  ASSIGN_OR_RETURN(const DividedSegments divided, DivideSegments(files, run_directory, strays, holders));
  std::vector<std::string> paths = PathsIn(segment_directory, divided.held);
  RETURN_IF_ERROR(CollectUnfinished(files, run_directory, epoch, &paths));
  RETURN_IF_ERROR(CheckNotFenced(files, run_directory, epoch));
  RETURN_IF_ERROR(RemoveAll(files, paths));
  return MoveAside(files, run_directory, PathsIn(segment_directory, divided.others));
}

absl::StatusOr<std::vector<std::string>> MoveUnreferencedAside(FileSystem& files, absl::string_view run_directory,
                                                               int64_t epoch, absl::Span<const std::string> merged) {
  const std::string segment_directory = SegmentDirectory(run_directory);
  const std::set<std::string> known(merged.begin(), merged.end());
  ASSIGN_OR_RETURN(std::vector<std::string> names, ListSegments(files, run_directory, epoch));
  std::erase_if(names, [&](const std::string& name) { return known.contains(JoinPath(segment_directory, name)); });
  ASSIGN_OR_RETURN(const DividedSegments divided,
                   DivideSegments(files, run_directory, names, {RunPath(run_directory)}));
  // The journals go first, with the files that belong to them: as long as a segment is left, they are moved aside and
  // not removed.
  std::vector<std::string> aside;
  if (divided.others.empty()) return aside;
  const auto is_journal = [&](absl::string_view name) { return IsUpTo(EpochOfJournal(name), epoch); };
  RETURN_IF_ERROR(Collect(files, std::string(run_directory), is_journal, &aside));
  for (const std::string& path : PathsIn(segment_directory, names)) aside.push_back(path);
  RETURN_IF_ERROR(CheckNotFenced(files, run_directory, epoch));
  return MoveAside(files, run_directory, aside);
}

absl::Status RemovePieces(FileSystem& files, absl::string_view run_directory, int64_t epoch,
                          absl::Span<const Digest> inlined) {
  const std::string segment_directory = SegmentDirectory(run_directory),
                    epoch_directory = EpochDirectory(run_directory);
  const std::string checkpoint_directory = CheckpointDirectory(run_directory);
  const auto is_segment = [&](absl::string_view name) {
    return !IsTemporaryName(name) && IsUpTo(EpochOfSegment(name), epoch);
  };
  const auto is_journal = [&](absl::string_view name) { return IsUpTo(EpochOfJournal(name), epoch); };
  const auto is_claim = [&](absl::string_view name) { return IsUpTo(EpochOf(name), epoch); };
  std::vector<std::string> pieces, journals, claims;
  RETURN_IF_ERROR(Collect(files, segment_directory, is_segment, &pieces));
  RETURN_IF_ERROR(CollectUnfinished(files, run_directory, epoch, &pieces));
  RETURN_IF_ERROR(Collect(files, std::string(run_directory), is_journal, &journals));
  RETURN_IF_ERROR(KeepOwn(files, IsOwnJournal, &journals));
  RETURN_IF_ERROR(Collect(files, epoch_directory, is_claim, &claims));
  RETURN_IF_ERROR(KeepOwn(files, IsOwnClaim, &claims));
  // The newest claim is removed last: until then, every later epoch gets a higher number.
  const auto epoch_of = [&](absl::string_view path) { return EpochOf(path.substr(path.rfind('/') + 1)); };
  std::sort(claims.begin(), claims.end(), [&](const auto& a, const auto& b) { return epoch_of(a) < epoch_of(b); });
  RETURN_IF_ERROR(RemoveCheckpointFiles(files, run_directory, epoch, inlined));
  RETURN_IF_ERROR(CheckNotFenced(files, run_directory, epoch));
  RETURN_IF_ERROR(RemoveAll(files, pieces));
  RETURN_IF_ERROR(RemoveAll(files, journals));
  RETURN_IF_ERROR(RemoveIfEmpty(files, segment_directory));
  RETURN_IF_ERROR(RemoveIfEmpty(files, checkpoint_directory));
  RETURN_IF_ERROR(RemoveAll(files, claims));
  return RemoveIfEmpty(files, epoch_directory);
}

void RemoveBeginning(FileSystem& files, absl::string_view run_directory) {
  const absl::StatusOr<std::vector<int64_t>> epochs = ListEpochs(files, run_directory);
  if (!epochs.ok() || (!epochs->empty() && epochs->back() > 1)) return;
  // The journal is removed first: without it, nothing was committed.
  Remove(files, JournalPath(run_directory, 1)).IgnoreError();
  std::vector<std::string> paths;
  const auto is_ours = [](absl::string_view name) { return EpochOfSegment(name) == 1; };
  Collect(files, SegmentDirectory(run_directory), is_ours, &paths).IgnoreError();
  paths.push_back(JoinPath(EpochDirectory(run_directory), EpochName(1)));
  for (const std::string& path : paths) Remove(files, path).IgnoreError();
  RemoveIfEmpty(files, SegmentDirectory(run_directory)).IgnoreError();
  RemoveIfEmpty(files, EpochDirectory(run_directory)).IgnoreError();
}

}  // namespace reprise::internal
