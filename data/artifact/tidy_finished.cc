#include <set>

#include "absl/strings/match.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/checkpoint_files.h"
#include "data/artifact/run_arrays.h"
#include "data/artifact/run_directory.h"
#include "data/artifact/run_writer.h"
#include "data/artifact/take_up.h"
#include "data/artifact/tidy.h"

namespace reprise {
namespace internal {
namespace {

constexpr int64_t kLargestRun = int64_t{1} << 40;

// The checkpoint files that run.h5 holds itself. Reads it only where there are any checkpoint files.
absl::StatusOr<std::vector<Digest>> InlinedFiles(FileSystem& files, absl::string_view directory) {
  std::vector<Digest> inlined;
  ASSIGN_OR_RETURN(const bool has_checkpoints, Exists(files, CheckpointDirectory(directory)));
  if (!has_checkpoints) return inlined;
  const std::string path = RunPath(directory);
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(files, path, kLargestRun));
  const absl::StatusOr<StoredRun> run = ParseRun(bytes);
  if (!run.ok()) return WithContext(run.status(), path);
  for (const CheckpointGroup& group : run->checkpoints) {
    if (run->container.Find(TensorPath(group, group.tensors[0])).ok()) inlined.push_back(group.file_sha256);
  }
  return inlined;
}

// Whether there is anything that a finished run does not need.
absl::StatusOr<bool> HasPieces(FileSystem& files, absl::string_view directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  for (const std::string& name : names) {
    if (name == "epochs" || name == "segments" || EpochOfJournal(name) > 0) return true;
    if (IsTemporaryName(name) && FinalName(name) == "run.h5") return true;
  }
  ASSIGN_OR_RETURN(const std::vector<Digest> inlined, InlinedFiles(files, directory));
  for (const Digest& digest : inlined) {
    ASSIGN_OR_RETURN(const bool exists, Exists(files, CheckpointPath(directory, digest)));
    if (exists) return true;
  }
  return false;
}

}  // namespace
}  // namespace internal

absl::Status RunWriter::Tidy(FileSystem& files, absl::string_view directory) {
  RETURN_IF_ERROR(internal::CheckFinished(files, directory));
  ASSIGN_OR_RETURN(const bool has_pieces, internal::HasPieces(files, directory));
  if (!has_pieces) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t epoch, internal::ClaimFinishedRun(files, directory));
  RETURN_IF_ERROR(files.SyncDirectory(directory));  // whoever wrote run.h5 may have died before its name was durable
  ASSIGN_OR_RETURN(const std::vector<Digest> inlined, internal::InlinedFiles(files, directory));
  return internal::RemovePieces(files, directory, epoch, inlined);
}

}  // namespace reprise
