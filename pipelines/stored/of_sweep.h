#ifndef PIPELINES_STORED_OF_SWEEP_H_
#define PIPELINES_STORED_OF_SWEEP_H_

// Recognizes what belongs to a sweep where somebody gives it as a run (pipelines/sweeps/sweep_folder.h has its files).

#include <string>

#include "absl/status/status.h"
#include "core/io/file_system.h"

namespace reprise {

inline constexpr char kPlanFile[] = "plan.json";

// Returns whether the directory is that of a sweep.
bool IsSweepFolder(FileSystem& files, const std::string& directory);

// Returns InvalidArgument, with a remedy, if `directory` is within the folder of a sweep, whose files are the sweep's.
absl::Status CheckIsInNoSweep(FileSystem& files, const std::string& directory);

// Returns InvalidArgument, with what to do instead, if `path`, which is no readable run, is the folder of a sweep or
// its table; otherwise OK.
absl::Status RejectSweepAsRun(FileSystem& files, const std::string& path);

}  // namespace reprise

#endif  // PIPELINES_STORED_OF_SWEEP_H_
