#ifndef PIPELINES_STORED_MODEL_TASK_H_
#define PIPELINES_STORED_MODEL_TASK_H_

// What a model was trained on: the file reprise.json (rl::kModelTaskFile) beside the config.json of a model directory
// that `train` or `export` wrote. It has the configuration of the run, as run.h5 stores it, and the digests of the
// run's files of problems, so that `evaluate` measures the model on its own task; and the same of every run that had
// trained the weights before, so that nothing is called held out of a model that an earlier run trained on it.
// docs/evaluation.md has its form.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "data/artifact/format/run_header.h"
#include "rl/config/config.h"
#include "rl/workload/external_file.h"

namespace reprise {

// A run that trained weights, as the file has it.
struct StoredTraining {
  std::string config_text;
  std::vector<ExternalFile> files;  // the run's, except those of the model that it started from

  friend bool operator==(const StoredTraining&, const StoredTraining&) = default;
};

struct ModelTask {
  rl::Config config;                // with "external" for paths
  std::vector<ExternalFile> files;  // as above
  // The runs that had trained the weights before this one, the last first; theirs are empty.
  std::vector<ModelTask> earlier = {};
};

// Writes the file for a model of the run with this header, in place of one that is there. earlier: what is stored of
// the model that the run started from (ReadTrainings). The directory is made where it is missing. AlreadyExists for a
// file that no run wrote, which stays. NotFound or AlreadyExists where another process writes there at the same time.
absl::Status WriteModelTask(FileSystem& files, const std::string& directory, const RunHeader& header,
                            const std::vector<StoredTraining>& earlier);

// Removes the file that WriteModelTask wrote.
void RemoveModelTask(FileSystem& files, const std::string& directory);

// Returns nullopt where the directory has no such file. DataLoss, naming the file, for one that `train` does not write.
absl::StatusOr<std::optional<ModelTask>> ReadModelTask(FileSystem& files, const std::string& directory);

// Returns the runs that trained the model with which a run begins, the last first, by the file in its directory; none
// where `digested`, the run's files (rl::DigestModelFiles), has no such file, as for a model from elsewhere. DataLoss
// as above, and where the model of another run could not list this one too; Unavailable where the file is another now.
absl::StatusOr<std::vector<StoredTraining>> ReadTrainings(FileSystem& files, const std::string& directory,
                                                          absl::Span<const rl::ExternalFile> digested);

// Returns the same with their configurations. DataLoss, naming the file, for one that no run stores.
absl::StatusOr<std::vector<ModelTask>> InterpretTrainings(const std::string& directory,
                                                          const std::vector<StoredTraining>& trainings);

}  // namespace reprise

#endif  // PIPELINES_STORED_MODEL_TASK_H_
