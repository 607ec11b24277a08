#include "data/artifact/find_run.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "data/artifact/directory/committed.h"
#include "data/artifact/directory/lineage.h"
#include "data/artifact/directory/run_directory.h"
#include "data/artifact/merge.h"
#include "data/artifact/run_reader.h"

namespace reprise {
absl::StatusOr<FoundRun> FindRun(FileSystem& files, absl::string_view directory) {
  ASSIGN_OR_RETURN(FoundRun found, internal::FindUnfinishedRun(files, directory));
  if (found.stage != RunStage::kFinished) return found;
  ASSIGN_OR_RETURN(const RunReader run, RunReader::Open(files, internal::RunPath(directory)));
  found.header = run.header();
  if (!run.steps().empty()) found.last_step = run.steps().back();
  return found;
}

absl::StatusOr<RunReader> OpenCommitted(FileSystem& files, absl::string_view directory, int64_t keep_checkpoints) {
  ASSIGN_OR_RETURN(const internal::Lineage lineage,
                   internal::ReadLineage(files, directory, std::numeric_limits<int64_t>::max()));
  if (lineage.entries.empty()) return absl::NotFoundError(absl::StrCat(directory, ": nothing is committed yet"));
  std::vector<std::string> segments;
  for (const internal::JournalEntry& entry : lineage.entries) {
    RETURN_IF_ERROR(internal::ReadSegment(files, directory, entry).status());
    segments.push_back(JoinPath(internal::SegmentDirectory(directory), entry.name));
  }
  ASSIGN_OR_RETURN(std::string bytes, internal::MergeInMemory(files, directory, segments, keep_checkpoints));
  return RunReader::Parse(files, std::move(bytes), directory, directory);
}

}  // namespace reprise
