#ifndef DATA_ARTIFACT_DIRECTORY_COMMITTED_H_
#define DATA_ARTIFACT_DIRECTORY_COMMITTED_H_

// Reads what a run's lineage names, and verifies every byte of it.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"
#include "data/artifact/directory/journal.h"
#include "data/artifact/format/run_header.h"

namespace reprise::internal {

// The kind of a segment's journal entry. The entry's number is the run's last step so far, or -1 if it has no step yet.
inline constexpr char kSegmentKind[] = "segment";

struct CommittedGroup {
  Digest file_sha256 = {};
  int64_t bytes = 0;
};

struct Committed {
  RunHeader header;                   // common to all segments
  std::vector<std::string> segments;  // paths, in order; empty: nothing has been committed
  int64_t last_step = -1;             // -1: none
  std::map<std::pair<int64_t, std::string>, CommittedGroup> checkpoints;  // keyed by step and group

  // Returns the first step whose checkpoints still belong to the run when it keeps those of the newest `keep` steps (0:
  // all). The files of older checkpoints may have been removed.
  int64_t FirstKept(int64_t keep) const;
};

// Returns the bytes of an entry's segment. DataLoss, with a remedy, if it is missing or differs from the entry;
// Unimplemented if the entry is of an unknown kind.
absl::StatusOr<std::string> ReadSegment(FileSystem& files, absl::string_view run_directory, const JournalEntry& entry);

// Reads the segments that `entries` name, one at a time, and every checkpoint file that they name and that the run
// keeps. Errors: those of ReadSegment, and DataLoss, with a remedy, for a missing or damaged checkpoint file and for
// segments that do not fit together.
absl::StatusOr<Committed> ReadCommitted(FileSystem& files, absl::string_view run_directory,
                                        absl::Span<const JournalEntry> entries, int64_t keep_checkpoints);

// Adds one more segment in the same way. After an error `committed` must not be used.
absl::Status AddSegment(FileSystem& files, absl::string_view run_directory, const JournalEntry& entry,
                        int64_t keep_checkpoints, Committed* committed);

}  // namespace reprise::internal

#endif  // DATA_ARTIFACT_DIRECTORY_COMMITTED_H_
