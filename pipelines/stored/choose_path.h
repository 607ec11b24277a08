#ifndef PIPELINES_STORED_CHOOSE_PATH_H_
#define PIPELINES_STORED_CHOOSE_PATH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipelines/stored/stored_run.h"

namespace reprise {

// Returns the path, of those that a flag ("--data") gives, which leads to the files that the run has read: the trials
// of a sweep may have read different ones. One path is returned as it is, and "" for none; those that find fault with a
// path are others. FailedPrecondition if none of several leads there. Reads the files of several paths.
absl::StatusOr<std::string> ChoosePath(absl::string_view flag, const std::vector<std::string>& given,
                                       const StoredRun& run);

}  // namespace reprise

#endif  // PIPELINES_STORED_CHOOSE_PATH_H_
