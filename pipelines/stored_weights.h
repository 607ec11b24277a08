#ifndef PIPELINES_STORED_WEIGHTS_H_
#define PIPELINES_STORED_WEIGHTS_H_

// The weights that a run keeps in its checkpoints.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "models/decoder/parameters.h"
#include "pipelines/stored_run.h"

namespace reprise {

// The training steps whose weights the run holds, rising.
std::vector<int64_t> StepsWithWeights(const StoredRun& run);

// The weights after training step `step` as one flat array of layout.total floats (padding 0). NotFound, listing the
// steps that there are, for a step without a checkpoint; DataLoss when the tensors are not those of `layout`; else the
// errors of RunReader::ReadCheckpoint.
absl::StatusOr<std::vector<float>> ReadWeights(const StoredRun& run, int64_t step,
                                               const models::ParameterLayout& layout);

}  // namespace reprise

#endif  // PIPELINES_STORED_WEIGHTS_H_
