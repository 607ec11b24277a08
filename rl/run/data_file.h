#ifndef RL_RUN_DATA_FILE_H_
#define RL_RUN_DATA_FILE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/tasks/task.h"
#include "rl/config/config.h"
#include "rl/run/external_file.h"

namespace reprise::rl {

// What a run calls the file of its problems: the name that it has on the host is not the run's identity.
inline constexpr absl::string_view kProblemsName = "data/problems";

// The problems of data.path, and the file that they come from; both empty where data.path is.
struct DataFile {
  std::vector<data::Task> problems;
  std::vector<ExternalFile> files;
};

// Errors: those of the file, and of data::ParseTaskLines.
absl::StatusOr<DataFile> ReadDataFile(const DataConfig& config);

}  // namespace reprise::rl

#endif  // RL_RUN_DATA_FILE_H_
