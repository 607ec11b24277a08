#ifndef DATA_ARTIFACT_FIND_RUN_H_
#define DATA_ARTIFACT_FIND_RUN_H_

// Finds out what a directory holds of a run, without claiming or changing anything.

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"
#include "data/artifact/directory/find_unfinished.h"
#include "data/artifact/run_reader.h"

namespace reprise {

// Of a run in progress it verifies the journals and the first segment (RunWriter::Resume verifies everything); it reads
// a finished run completely. DataLoss, naming the file, if what it reads is damaged; Unimplemented if that has another
// format or numeric contract.
absl::StatusOr<FoundRun> FindRun(FileSystem& files, absl::string_view directory);

// Returns everything committed of a run in progress, as the run file that it would have if it ended now. This does not
// disturb the process that writes the run. Of the steps with checkpoints, the newest `keep_checkpoints` are listed (0:
// all); their tensors are read on demand, if they still exist. NotFound if nothing is committed. DataLoss as above,
// also if the run was finished or resumed in the meantime: then the caller should call FindRun again.
absl::StatusOr<RunReader> OpenCommitted(FileSystem& files, absl::string_view directory, int64_t keep_checkpoints);

}  // namespace reprise

#endif  // DATA_ARTIFACT_FIND_RUN_H_
