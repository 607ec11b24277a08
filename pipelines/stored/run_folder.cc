#include "pipelines/stored/run_folder.h"

#include "core/status/status_macros.h"
#include "data/artifact/find_run.h"
#include "pipelines/stored/of_sweep.h"

namespace reprise {
namespace {

// Returns "" for a folder that is neither a run nor a sweep.
absl::string_view StateIn(FileSystem& files, const std::string& directory) {
  const absl::StatusOr<FileInfo> info = files.Stat(directory);
  if (!info.ok() || !info->is_directory) return "";
  if (files.Stat(JoinPath(directory, "run.h5")).ok()) return "finished";
  if (IsSweepFolder(files, directory)) return "sweep";
  const absl::StatusOr<FoundRun> found = FindRun(files, directory);
  if (!found.ok()) return "unreadable";
  return found->stage == RunStage::kNone ? "" : "unfinished";
}

}  // namespace

absl::StatusOr<std::vector<FolderEntry>> RunsWithin(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  std::vector<FolderEntry> entries;
  for (const std::string& name : names) {
    const absl::string_view state = StateIn(files, JoinPath(directory, name));
    if (!state.empty()) entries.push_back({name, state});
  }
  return entries;
}

}  // namespace reprise
