#ifndef PIPELINES_STORED_MODEL_TASK_H_
#define PIPELINES_STORED_MODEL_TASK_H_

// What a model was trained on: the file reprise.json beside the config.json of a model directory that `train` or
// `export` wrote. It has the configuration of the run, as run.h5 stores it, and the digests of the run's files of
// problems, so that `evaluate` measures the model on its own task. docs/evaluation.md has its form.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"
#include "data/artifact/format/run_header.h"
#include "rl/config/config.h"

namespace reprise {

inline constexpr absl::string_view kModelTaskFile = "reprise.json";

struct ModelTask {
  int64_t numeric_contract = 0;
  rl::Config config;                // with "external" for paths
  std::vector<ExternalFile> files;  // the run's, except those of the model that it started from
};

// Writes the file for a model of the run with this header, in place of one that is there. The directory is made where
// it is missing. AlreadyExists for a file that no run wrote, which stays. NotFound or AlreadyExists where another
// process writes there at the same time.
absl::Status WriteModelTask(FileSystem& files, const std::string& directory, const RunHeader& header,
                            int64_t numeric_contract);

// Removes the file that WriteModelTask wrote.
void RemoveModelTask(FileSystem& files, const std::string& directory);

// Returns nullopt where the directory has no such file. DataLoss, naming the file, for one that `train` does not write.
absl::StatusOr<std::optional<ModelTask>> ReadModelTask(FileSystem& files, const std::string& directory);

}  // namespace reprise

#endif  // PIPELINES_STORED_MODEL_TASK_H_
