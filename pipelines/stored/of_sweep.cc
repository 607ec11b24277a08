#include "pipelines/stored/of_sweep.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/io/directory_entry.h"
#include "data/artifact/table_file.h"

namespace reprise {

bool IsSweepFolder(FileSystem& files, const std::string& directory) {
  const std::string plan = JoinPath(directory, kPlanFile);
  if (files.Stat(plan).ok()) return true;
  const absl::StatusOr<DirectoryEntry> entry = LookUp(plan);
  return entry.ok() && entry->is_link;  // one that leads nowhere
}

absl::Status CheckIsInNoSweep(FileSystem& files, const std::string& directory) {
  std::string path = directory;
  for (std::string parent = DirectoryOf(path); parent != path; path = parent, parent = DirectoryOf(path)) {
    if (!IsSweepFolder(files, parent)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(directory, " is within the folder of the sweep in ", parent, ": choose another --output"));
  }
  return absl::OkStatus();
}

absl::Status RejectSweepAsRun(FileSystem& files, const std::string& path) {
  if (IsSweepFolder(files, path)) {
    return absl::InvalidArgumentError(absl::StrCat(path,
                                                   " is the folder of a sweep, and no run: sweep.md in it shows the "
                                                   "table, ./reprise reproduce ",
                                                   path, " verifies it, and each folder in trials is a run"));
  }
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (!info.ok() || info->is_directory) return absl::OkStatus();
  const absl::StatusOr<std::string> bytes = ReadTableFile(files, path);
  if (!bytes.ok() || !ParseTableFile(*bytes, path).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path,
                                                 " is the table of a sweep, and no run: sweep.md beside it shows "
                                                 "it, and ./reprise reproduce ",
                                                 DirectoryOf(path), " verifies it"));
}

}  // namespace reprise
