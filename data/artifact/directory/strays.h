#ifndef DATA_ARTIFACT_DIRECTORY_STRAYS_H_
#define DATA_ARTIFACT_DIRECTORY_STRAYS_H_

// Strays: segments in a run's directory that the run's journals do not name. A process names each segment before it
// writes the next, so a crash leaves at most one stray per epoch, which was not reported as durable. More than one are
// committed steps whose journal was truncated or lost. Strays whose steps follow the end of the journals join the run.
// Of the others, those whose steps the run has elsewhere are removed; the rest are moved aside, because they may have
// been committed.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "data/artifact/directory/committed.h"
#include "data/artifact/directory/journal.h"
#include "data/artifact/directory/lineage.h"
#include "data/artifact/format/run_header.h"

namespace reprise::internal {

// Returns the names in segments/ of epochs up to `last_epoch`, without temporary files; empty if the directory does not
// exist.
absl::StatusOr<std::vector<std::string>> ListSegments(FileSystem& files, absl::string_view run_directory,
                                                      int64_t last_epoch);

// Returns those of `segments`, which were listed before `lineage` was read, that `lineage` does not name. DataLoss,
// with a remedy, if more than one of them belongs to the same epoch.
absl::StatusOr<std::vector<std::string>> StraysOf(absl::string_view run_directory,
                                                  absl::Span<const std::string> segments, const Lineage& lineage);

// See RunWriter::Resume.
using NextStepAfter = std::function<absl::StatusOr<int64_t>(const std::string& segment)>;

// Adds the strays whose steps follow those of `committed`, one after another, to `committed`, removes them from
// `strays`, and returns their entries. Where several follow the same step, uses the one with the most steps. Empty if
// nothing is committed. `header` is the run's header, sorted. `next_step_after` may be null. An error that it returns
// is returned.
absl::StatusOr<std::vector<JournalEntry>> AdoptStrays(FileSystem& files, absl::string_view run_directory,
                                                      const RunHeader& header, int64_t keep_checkpoints,
                                                      const NextStepAfter& next_step_after,
                                                      std::vector<std::string>* strays, Committed* committed);

// Divides segments, by name, into those whose steps are all in the run files `holders` too, with the same rows except
// for streams that have no rows in the segment, and all others.
struct DividedSegments {
  std::vector<std::string> held, others;
};
absl::StatusOr<DividedSegments> DivideSegments(FileSystem& files, absl::string_view run_directory,
                                               absl::Span<const std::string> segments,
                                               absl::Span<const std::string> holders);

// Moves files into AsideDirectory, durably. Returns their new paths; files that no longer exist are skipped.
absl::StatusOr<std::vector<std::string>> MoveAside(FileSystem& files, absl::string_view run_directory,
                                                   absl::Span<const std::string> paths);

}  // namespace reprise::internal

#endif  // DATA_ARTIFACT_DIRECTORY_STRAYS_H_
