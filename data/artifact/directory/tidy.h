#ifndef DATA_ARTIFACT_DIRECTORY_TIDY_H_
#define DATA_ARTIFACT_DIRECTORY_TIDY_H_

// Removes what a run no longer needs, while an older process may wake up, or a later one claim the run, at any moment.
// Everything that is removed was listed before the fence was checked, and has a name that is never used twice: so a
// later epoch cannot have made any of it. No segment is removed unless its steps are stored elsewhere; otherwise it is
// moved aside.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"

namespace reprise::internal {

// Returns the digests of the checkpoint files in a finished run's directory that the run does not need: run.h5 holds
// their tensors itself, or no longer keeps that checkpoint. Files that are needed by a run that was set aside are not
// returned. Reads the run files that were set aside if there are any checkpoint files; one that cannot be read may need
// all of them. Errors: those of reading run.h5.
absl::StatusOr<std::vector<Digest>> UnreferencedFiles(FileSystem& files, absl::string_view directory);

// Returns whether there is anything in a finished run's directory that the run does not need. Errors: as above.
absl::StatusOr<bool> HasPieces(FileSystem& files, absl::string_view directory);

// Removes temporary files whose contents show that a run's process left them. Of the segments `strays`, which no journal
// of the run names, it removes those whose steps are also in the run files `holders`, and moves the others aside; returns
// their new paths. A process of an older epoch cannot finish the run after this. FailedPrecondition if a later process
// has taken the run over, so that `epoch` may not write.
absl::StatusOr<std::vector<std::string>> RemoveOrphans(FileSystem& files, absl::string_view run_directory,
                                                       int64_t epoch, absl::Span<const std::string> strays,
                                                       absl::Span<const std::string> holders);

// Moves the segments and journals of a finished run aside if there is a segment whose steps run.h5 does not hold; the
// segments at the paths `merged` are known to be in run.h5, and are not moved. Returns the new paths.
// FailedPrecondition if `epoch` is fenced.
absl::StatusOr<std::vector<std::string>> MoveUnreferencedAside(FileSystem& files, absl::string_view run_directory,
                                                               int64_t epoch, absl::Span<const std::string> merged);

// Removes everything that run.h5 makes superfluous in a finished run, after MoveUnreferencedAside: segments, the
// checkpoint files `inlined`, temporary files, journals and claims of epochs up to `epoch`, in this order. Directories
// that contain other files are left. FailedPrecondition if `epoch` is fenced.
absl::Status RemovePieces(FileSystem& files, absl::string_view run_directory, int64_t epoch,
                          absl::Span<const Digest> inlined);

// Removes the files of checkpoints that the run no longer keeps. FailedPrecondition if `epoch` is fenced; a later epoch
// still finds the files that it needs.
absl::Status RemoveCheckpointFiles(FileSystem& files, absl::string_view run_directory, int64_t epoch,
                                   absl::Span<const Digest> digests);

// Removes the claim of a run that was just started in epoch 1 and committed nothing. Does nothing if another process
// has claimed the run since.
void RemoveBeginning(FileSystem& files, absl::string_view run_directory);

}  // namespace reprise::internal

#endif  // DATA_ARTIFACT_DIRECTORY_TIDY_H_
