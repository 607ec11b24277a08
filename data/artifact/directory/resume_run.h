#ifndef DATA_ARTIFACT_DIRECTORY_RESUME_RUN_H_
#define DATA_ARTIFACT_DIRECTORY_RESUME_RUN_H_

// How a process becomes the writer of a run: it first claims an epoch, then reads what older epochs committed, records
// in its own journal which journal it continues, and only then removes what older epochs left unfinished. At that point
// it also names the segment that an older process wrote and did not live to name.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "data/artifact/directory/committed.h"
#include "data/artifact/directory/journal.h"
#include "data/artifact/directory/strays.h"
#include "data/artifact/format/run_header.h"

namespace reprise::internal {

// A run that this process writes.
struct ResumedRun {
  int64_t epoch = 0;
  JournalWriter journal;  // its first entry is already written
  Committed committed;
  std::vector<std::string> moved_aside;  // see RunWriter::moved_aside
};

// AlreadyExists, with a remedy, if `directory` holds a run, or files named `others`.
absl::Status CheckFree(FileSystem& files, absl::string_view directory, absl::Span<const absl::string_view> others);

// Starts a run in a free directory, which is created if needed. AlreadyExists if it is not free. A call that fails
// removes what it created, as far as it can.
absl::StatusOr<ResumedRun> BeginRun(FileSystem& files, absl::string_view directory);

// Resumes an unfinished run; `header` must be sorted. Errors: those of RunWriter::Resume.
absl::StatusOr<ResumedRun> ResumeRun(FileSystem& files, absl::string_view directory, const RunHeader& header,
                                     int64_t keep_checkpoints, const NextStepAfter& next_step_after);

// Starts another run, with its own past, beside a finished one. Errors: those of RunWriter::Rewrite.
absl::StatusOr<ResumedRun> BeginRewrite(FileSystem& files, absl::string_view directory);

// Claims the directory of a finished run. FailedPrecondition if there is no run.h5.
absl::StatusOr<int64_t> ClaimFinishedRun(FileSystem& files, absl::string_view directory);

// Returns `status`, the error of a call on a run claimed in `epoch`; or, if another process now writes the run, the
// error of CheckNotFenced: the other process may have removed what the call needed.
absl::Status OrFence(FileSystem& files, absl::string_view directory, int64_t epoch, const absl::Status& status);

// AlreadyExists, saying that the run is finished, if run.h5 exists.
absl::Status CheckUnfinished(FileSystem& files, absl::string_view directory);
// FailedPrecondition if run.h5 does not exist.
absl::Status CheckFinished(FileSystem& files, absl::string_view directory);

}  // namespace reprise::internal

#endif  // DATA_ARTIFACT_DIRECTORY_RESUME_RUN_H_
