#ifndef PIPELINES_STORED_RUN_FOLDER_H_
#define PIPELINES_STORED_RUN_FOLDER_H_

// What a folder of runs, such as runs/ with runs/first and runs/second, contains.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"

namespace reprise {

struct FolderEntry {
  std::string name;
  absl::string_view state;  // "finished", "unfinished", "sweep", or "unreadable": files of a run that are damaged

  bool operator==(const FolderEntry&) const = default;
};

// Returns the runs and sweeps directly within the directory, by name; other files and folders are left out. No run.h5
// is read. Errors are those of reading the directory.
absl::StatusOr<std::vector<FolderEntry>> RunsWithin(FileSystem& files, const std::string& directory);

}  // namespace reprise

#endif  // PIPELINES_STORED_RUN_FOLDER_H_
