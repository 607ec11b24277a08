#include "pipelines/sweeps/trial_leftovers.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "data/artifact/find_run.h"
#include "data/artifact/run_writer.h"

namespace reprise {

absl::StatusOr<std::string> MoveLeftoversAside(FileSystem& files, const std::string& directory) {
  const absl::StatusOr<FoundRun> found = FindRun(files, directory);
  if (!found.ok() || found->stage != RunStage::kNone) return "";  // damage is for those who read the run to report
  const absl::Status is_free = RunWriter::CheckFree(files, directory, {"model", "metrics.jsonl", "execution.jsonl"});
  if (!absl::IsAlreadyExists(is_free)) return is_free.ok() ? absl::StatusOr<std::string>("") : is_free;
  for (int number = 1;; ++number) {
    std::string aside = absl::StrCat(directory, ".aside", number);
    const absl::Status renamed = files.RenameNoReplace(directory, aside);
    if (absl::IsAlreadyExists(renamed)) continue;
    if (!renamed.ok()) {  // a network file system may refuse to rename a directory without replacing one
      return absl::FailedPreconditionError(
          absl::StrCat(directory,
                       " holds files of a run, such as its model, and no run: remove it, and start the sweep "
                       "again (",
                       renamed.message(), ")"));
    }
    RETURN_IF_ERROR(files.SyncDirectory(DirectoryOf(directory)));
    return aside;
  }
}

}  // namespace reprise
