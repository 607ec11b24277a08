#ifndef DATA_ARTIFACT_FIND_RUN_H_
#define DATA_ARTIFACT_FIND_RUN_H_

// What a directory holds of a run, without claiming or changing anything.

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"
#include "data/artifact/run_header.h"

namespace reprise {

enum class RunStage {
  kNone,        // no run
  kClaimed,     // a process has begun one and committed nothing
  kInProgress,  // something is committed, and there is no run.h5
  kFinished,    // there is a run.h5
};

struct FoundRun {
  RunStage stage = RunStage::kNone;
  // Of a run in progress or finished.
  RunHeader header;
  int64_t last_step = -1;  // committed; -1: none
};

// Of a run in progress it verifies the journals and the first segment (RunWriter::Resume verifies all); a finished run
// it reads whole. DataLoss, naming the file, if what it reads is damaged; Unimplemented if that is of another numeric
// contract or a newer format.
absl::StatusOr<FoundRun> FindRun(FileSystem& files, absl::string_view directory);

namespace internal {

// The same, but does not look into run.h5: of a finished run only the stage.
absl::StatusOr<FoundRun> FindUnfinishedRun(FileSystem& files, absl::string_view directory);

}  // namespace internal
}  // namespace reprise

#endif  // DATA_ARTIFACT_FIND_RUN_H_
