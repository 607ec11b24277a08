#include "data/artifact/directory/find_unfinished.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/directory/committed.h"
#include "data/artifact/directory/lineage.h"
#include "data/artifact/directory/run_directory.h"
#include "data/artifact/directory/strays.h"
#include "data/artifact/format/run_arrays.h"

namespace reprise::internal {
namespace {

absl::StatusOr<FoundRun> ReadProgress(FileSystem& files, absl::string_view directory) {
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  const FoundRun none = {.stage = RunStage::kNone, .header = {}, .last_step = -1};
  ASSIGN_OR_RETURN(const bool exists, Exists(files, directory));
  if (!exists) return none;
  RETURN_IF_ERROR(CheckNoLinks(directory));
  ASSIGN_OR_RETURN(const bool has_epochs, Exists(files, EpochDirectory(directory)));
  ASSIGN_OR_RETURN(const int64_t named, NewestEpochNamed(files, directory));
  if (!has_epochs && named == 0) return none;
  RETURN_IF_ERROR(CheckClaims(files, directory));
  FoundRun found = {.stage = RunStage::kClaimed, .header = {}, .last_step = -1};
  // The order of these reads matters, because another process may be writing the run.
  ASSIGN_OR_RETURN(const std::vector<std::string> segments, ListSegments(files, directory, kAll));
  ASSIGN_OR_RETURN(const Lineage lineage, ReadLineage(files, directory, kAll));
  RETURN_IF_ERROR(StraysOf(directory, segments, lineage).status());
  if (lineage.entries.empty()) return found;
  ASSIGN_OR_RETURN(const std::string bytes, ReadSegment(files, directory, lineage.entries[0]));
  absl::StatusOr<StoredRun> run = ParseRun(bytes);
  if (!run.ok()) return WithContext(run.status(), JoinPath(SegmentDirectory(directory), lineage.entries[0].name));
  found.stage = RunStage::kInProgress;
  found.header = std::move(run->header);
  found.last_step = lineage.entries.back().number;
  return found;
}

}  // namespace

absl::StatusOr<FoundRun> FindUnfinishedRun(FileSystem& files, absl::string_view directory) {
  const FoundRun finished = {.stage = RunStage::kFinished, .header = {}, .last_step = -1};
  ASSIGN_OR_RETURN(const bool is_finished, Exists(files, RunPath(directory)));
  if (is_finished) return finished;
  absl::StatusOr<FoundRun> found = ReadProgress(files, directory);
  // Another process that finishes the run at the same time removes the files being read.
  ASSIGN_OR_RETURN(const bool was_finished, Exists(files, RunPath(directory)));
  return was_finished ? finished : found;
}

}  // namespace reprise::internal
