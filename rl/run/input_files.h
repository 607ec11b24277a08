#ifndef RL_RUN_INPUT_FILES_H_
#define RL_RUN_INPUT_FILES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "rl/config/config.h"
#include "rl/run/path_keys.h"
#include "rl/workload/external_file.h"

namespace reprise::rl {

// Returns the files that a run of the configuration reads because of its paths (path_keys.h), sorted by name, with
// their digests: those of RunParts::external_files, except the weights of --init-from, without preparing a run. Reads
// all of them. Errors are those of the files.
absl::StatusOr<std::vector<ExternalFile>> DigestInputFiles(const Config& config);

// Returns those of one path, none where it is empty.
absl::StatusOr<std::vector<ExternalFile>> DigestFilesAt(const PathKey& key, const Config& config);

}  // namespace reprise::rl

#endif  // RL_RUN_INPUT_FILES_H_
