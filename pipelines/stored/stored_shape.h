#ifndef PIPELINES_STORED_STORED_SHAPE_H_
#define PIPELINES_STORED_STORED_SHAPE_H_

#include "absl/status/status.h"
#include "data/artifact/run_reader.h"
#include "rl/config/config.h"

namespace reprise {

// DataLoss unless the model that the configuration of a run describes is the one whose weights the run stores: a small
// file must not make a reader allocate a model of any size. What it costs is limited by the file's size. A model of
// files beside the run, or one without a checkpoint, is not compared.
absl::Status CheckModelIsStored(const RunReader& reader, const rl::Config& config);

}  // namespace reprise

#endif  // PIPELINES_STORED_STORED_SHAPE_H_
