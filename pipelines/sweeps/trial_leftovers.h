#ifndef PIPELINES_SWEEPS_TRIAL_LEFTOVERS_H_
#define PIPELINES_SWEEPS_TRIAL_LEFTOVERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"

namespace reprise {

// Somebody may have deleted a trial's run.h5, and left its model: that is no run that could be resumed, and no place
// for a new one. Renames such a folder, so that the trial can be executed anew and nothing is lost, and returns its new
// name, the folder's own with ".aside1" or the next free number; returns "" for a folder that holds a run, is free or
// does not exist. FailedPrecondition, with a remedy, if it cannot be renamed; other errors are FileSystem's.
absl::StatusOr<std::string> MoveLeftoversAside(FileSystem& files, const std::string& directory);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_TRIAL_LEFTOVERS_H_
